// The API with a job that a test tells, without a server.
#include "web/api/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "absl/strings/str_cat.h"
#include "tests/web/api/api_case.h"

namespace tony::web {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(ApiTest, EachPathHasItsMethods) {
  EXPECT_EQ(Api::Allowed("api/v1/jobs/job-1/stop"), "POST");
  EXPECT_EQ(Api::Allowed("api/v1/jobs/job-1/stacks"), "GET, HEAD, POST");
  for (const char* place : {"api/v1/jobs/job-1", "api/v1/jobs", "api/v1/jobs/a/b/stop",
                            "api/v2/jobs/job-1/stop", "stop", ""}) {
    EXPECT_EQ(Api::Allowed(place), "GET, HEAD") << place;
  }
}

TEST_F(ApiTest, WhatItDoesNotHave) {
  for (const char* place :
       {"api", "api/v1", "api/v1/", "api/v1/jobs/", "api/v1/jobs/job-2", "api/v1/jobs/job-1/",
        "api/v1/jobs/job-1/advices", "api/v1/jobs/job-1/tasks/", "api/v1/jobs/job-1/tasks/worker-4",
        "api/v1/jobs/job-1/tasks/worker-00", "api/v1/jobs/job-1/tasks/worker-0/x",
        "api/v1/jobs/job-1/logs/worker-0", "api/v1/jobs/job-1/logs/worker-0/1/stdout/raw/x"}) {
    const HttpResponse response = Get(place);
    EXPECT_EQ(response.status, 404) << place;
    EXPECT_EQ(response.content_type, "application/problem+json") << place;
  }
}

TEST_F(ApiTest, WhileThePastIsBeingReadItSaysSo) {
  job_.job_ = {};
  const HttpResponse response = Get("api/v1/jobs/job-1");
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.headers[0].first, "Retry-After");
  EXPECT_EQ(Get("healthz").status, 200);
}

TEST_F(ApiTest, TasksInPagesAndOrders) {
  job_.Task(0, core::TaskState::kRunning, "b");
  job_.Task(1, core::TaskState::kSucceeded, "a");
  job_.Task(2, core::TaskState::kFailed, "a");
  job_.Task(3, core::TaskState::kRunning, "c");
  job_.Measure(3, 1000);
  const std::string place = "api/v1/jobs/job-1/tasks";
  const Json all = GetJson(place);
  EXPECT_THAT(Names(all), ElementsAre("worker:0", "worker:1", "worker:2", "worker:3"));
  EXPECT_EQ(all["columns"].size(), all["rows"][0].size());
  EXPECT_EQ(all["columns"].size(), all["rows"][3].size());
  EXPECT_EQ(all["total"], 4);
  EXPECT_THAT(Names(GetJson(place, {{"sort", "trouble"}})),
              ElementsAre("worker:2", "worker:0", "worker:3", "worker:1"));
  EXPECT_THAT(Names(GetJson(place, {{"sort", "memory"}, {"limit", "1"}})), ElementsAre("worker:3"));
  EXPECT_THAT(Names(GetJson(place, {{"host", "a"}, {"state", "FAILED,RUNNING"}})),
              ElementsAre("worker:2"));
  for (const char* sort : {"task", "trouble", "host", "memory", "cpu"}) {
    std::vector<std::string> names;
    std::map<std::string, std::string> query = {{"sort", sort}, {"limit", "1"}};
    for (Json next = "first"; !next.is_null();) {
      const Json page = GetJson(place, query);
      for (const std::string& name : Names(page)) names.push_back(name);
      next = page["next"];
      if (!next.is_null()) query["cursor"] = next.get<std::string>();
    }
    EXPECT_EQ(names, Names(GetJson(place, {{"sort", sort}}))) << sort;
  }
}

TEST_F(ApiTest, WrongParametersAreNamed) {
  const std::string tasks = "api/v1/jobs/job-1/tasks";
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"limit", "0"},
                                                        {"limit", "10001"},
                                                        {"limit", ""},
                                                        {"limit", " 1"},
                                                        {"limit", "+1"},
                                                        {"limit", "1.0"},
                                                        {"limit", "99999999999999999999"},
                                                        {"sort", "name"},
                                                        {"sort", ""},
                                                        {"state", "running"},
                                                        {"state", "RUNNING,"},
                                                        {"host", ""},
                                                        {"host", "a b"},
                                                        {"host", std::string(254, 'a')},
                                                        {"cursor", "x"},
                                                        {"cursor", "a|b"}}) {
    const HttpResponse response = Get(tasks, {{name, value}});
    EXPECT_EQ(response.status, 400) << name << "=" << value;
    EXPECT_THAT(Json::parse(response.body)["detail"].get<std::string>(), HasSubstr(name));
  }
  EXPECT_EQ(Get("api/v1/jobs/job-1/events", {{"after", "-1"}}).status, 400);
  EXPECT_EQ(Get("api/v1/jobs/job-1/config", {{"against", "job-2"}}).status, 400);
}

TEST_F(ApiTest, EventsThatCannotBeReadNowAreAskedForAgain) {
  const char* const path = "api/v1/jobs/job-1/events";
  const HttpResponse page = Get(path);
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(Json::parse(page.body)["events"].size(), 1);
  HttpRequest again;
  ASSERT_EQ(page.headers[0].first, "ETag");
  again.if_none_match = page.headers[0].second;
  EXPECT_EQ(Ask(again, path).status, 304);
  job_.events_ = absl::ResourceExhaustedError("too many requests");
  EXPECT_EQ(Get(path).status, 429);
}

TEST_F(ApiTest, WhatHasChangedSinceAnEarlierRun) {
  const char* const path = "api/v1/jobs/job-1/config/previous";
  Json none = Json::parse(Get(path).body);
  EXPECT_TRUE(none["job"].is_null());
  EXPECT_TRUE(none["changes"].empty());
  job_.previous_ = PreviousRun{
      "job-0", kNow, {{"tony.b", "3", "", "1", true, true}, {"tony.c", "4", "", "1", true, true}}};
  const Json json = Json::parse(Get(path).body);
  EXPECT_EQ(json["job"], "job-0");
  EXPECT_EQ(json["changes"], Json::parse(R"([{"key": "tony.a", "value": "1", "previous": null},
                            {"key": "tony.b", "value": "2", "previous": "3"},
                            {"key": "tony.c", "value": null, "previous": "4"}])"));
  job_.previous_ = absl::ResourceExhaustedError("too many");
  EXPECT_EQ(Get(path).status, 429);
  EXPECT_EQ(Get("api/v1/jobs/job-1/config/next").status, 404);
}

TEST_F(ApiTest, ATagSavesTheAnswer) {
  const HttpResponse first = Get("api/v1/jobs/job-1");
  ASSERT_EQ(first.headers[0].first, "ETag");
  HttpRequest request;
  request.if_none_match = first.headers[0].second;
  EXPECT_EQ(Ask(request, "api/v1/jobs/job-1").status, 304);
  job_.Task(0, core::TaskState::kRunning);
  EXPECT_EQ(Ask(request, "api/v1/jobs/job-1").status, 200);
  request.if_none_match = Get("api/v1/jobs/job-1/tasks").headers[0].second;
  EXPECT_EQ(Ask(request, "api/v1/jobs/job-1/tasks").status, 304);
  job_.Measure(0, 1);  // no event, but another answer
  EXPECT_EQ(Ask(request, "api/v1/jobs/job-1/tasks").status, 200);
}

TEST_F(ApiTest, TheTimelineHasFirstStepsWithoutAnEvent) {
  job_.Task(0, core::TaskState::kRunning);
  const std::string place = "api/v1/jobs/job-1/timeline";
  EXPECT_EQ(GetJson(place)["first_steps"]["rows"].size(), 0u);
  HttpRequest request;
  request.if_none_match = Get(place).headers[0].second;
  EXPECT_EQ(Ask(request, place).status, 304);
  job_.Step(0, kNow + 10'000);
  EXPECT_EQ(Ask(request, place).status, 200);
  EXPECT_EQ(GetJson(place)["first_steps"], (Json{{"columns", {"task", "millis", "attempt"}},
                                                 {"rows", {{"worker:0", kNow + 10'000, 1}}}}));
}

TEST_F(ApiTest, ThroughAProxyNothingIsShortAndNothingStreams) {
  api_ = std::make_unique<Api>(Api::Parts{.loop = driver_.loop(), .job = job_, .direct = false});
  HttpRequest request;
  const HttpResponse first = Ask(request, "api/v1/jobs/job-1");
  EXPECT_TRUE(first.headers.empty());
  EXPECT_FALSE(Json::parse(first.body)["may"]["stop"].get<bool>());
  request.if_none_match = "\"seq-2\"";
  request.accept = "text/event-stream";
  EXPECT_EQ(Ask(request, "api/v1/jobs/job-1").status, 200);
  EXPECT_EQ(Ask(request, "api/v1/jobs/job-1/events").source, nullptr);
}

TEST_F(ApiTest, LogsThatLieElsewhereAreSaidToBeThere) {
  job_.Task(0, core::TaskState::kRunning);
  for (const char* place : {"logs", "errors", "logs/worker-0/1/stdout"}) {
    const HttpResponse response = Get(absl::StrCat("api/v1/jobs/job-1/", place));
    EXPECT_EQ(response.status, 503) << place;
    EXPECT_EQ(Json::parse(response.body)["command"], "tony logs job-1") << place;
  }
}

TEST_F(ApiTest, TheJobIsEndedByAProperRequestOnly) {
  refusal_ = ProblemResponse(403, "not from there");
  EXPECT_EQ(Post("{}").status, 403);
  refusal_.reset();
  EXPECT_EQ(Post("{}", "text/plain").status, 415);
  EXPECT_EQ(Post("{}", "").status, 415);
  for (const char* body : {"", "[]", "1", "{", R"({"reason":1})", R"({"x":""})"}) {
    EXPECT_EQ(Post(body).status, 400) << body;
  }
  EXPECT_EQ(job_.stopped_, "");
  EXPECT_EQ(Post(R"({"reason":"enough"})", "application/json; charset=utf-8").status, 202);
  EXPECT_THAT(job_.stopped_, HasSubstr("enough"));
  core::JobEnded ended;
  ended.verdict.sentence = "done";
  job_.Add(ended);
  EXPECT_EQ(Post("{}").status, 409);
}

TEST_F(ApiTest, ARecordedJobIsNotChangedFromHere) {
  EXPECT_EQ(GetJson("api/v1/jobs/job-1")["recorded"], false);
  EXPECT_EQ(GetJson("api/v1/jobs/job-1")["may"]["stop"], true);
  job_.recorded_ = true;
  for (const Json& job : {GetJson("api/v1/jobs/job-1"), GetJson("api/v1/jobs")["jobs"][0]}) {
    EXPECT_EQ(job["recorded"], true);
    EXPECT_EQ(job["may"]["stop"], false);
    EXPECT_EQ(job["may"]["stacks"], false);
  }
}

TEST_F(ApiTest, ARecordedJobThatCanBeReachedIsEndedByWhoMay) {
  job_.recorded_ = true;
  job_.can_stop_ = true;
  const auto may = [this] { return GetJson("api/v1/jobs/job-1")["may"]; };
  EXPECT_TRUE(may()["stop"].get<bool>());
  EXPECT_FALSE(may()["stacks"].get<bool>());
  EXPECT_FALSE(may()["open"].get<bool>());
  visitor_ = "alice";
  job_.stops_ = absl::DeadlineExceededError("no answer");
  const HttpResponse failed = Post("{}");
  EXPECT_EQ(failed.status, 503);
  EXPECT_EQ(Json::parse(failed.body)["command"], "tony kill job-1");
  job_.stops_ = absl::OkStatus();
  EXPECT_EQ(Post(R"({"reason":"enough"})").status, 202);
  EXPECT_EQ(job_.stopped_, "The job's page was told to stop it by alice in the portal: enough");
  may_change_ = false;
  EXPECT_FALSE(may()["stop"].get<bool>()) << "another visitor";
}

TEST_F(ApiTest, WhatAVisitorMayDoIsPartOfTheTag) {
  const std::string before = TagOf(Get("api/v1/jobs/job-1"));
  may_change_ = false;
  EXPECT_NE(TagOf(Get("api/v1/jobs/job-1")), before);
}

TEST_F(ApiTest, PrometheusLabelsAreEscaped) {
  job_.job_.view.job.job_id = "a\"b\\c\nd";
  job_.Task(0, core::TaskState::kRunning);
  job_.Measure(0, 4096);
  const std::string text = Get("metrics").body;
  EXPECT_THAT(text, HasSubstr("tony_job_state{job=\"a\\\"b\\\\c\\nd\",state=\"RUNNING\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("tony_task_memory_bytes{job=\"a\\\"b\\\\c\\nd\",task=\"worker:0\","
                              "attempt=\"1\"} 4096"));
  EXPECT_THAT(text, Not(HasSubstr("tony_task_gpu")));
}

/// Reads a stream as fast as the test wants.
class Reader {
 public:
  Reader(Api& api, int64_t after, PageMeans means = {.post = true})
      : source_(api.broadcast().Open(after, means)) {}
  /// Asks for the next piece; what comes is kept.
  void Ask() {
    waits_ = true;
    source_->Next([this](const absl::StatusOr<std::shared_ptr<const std::string>>& piece) {
      waits_ = false;
      frames_.push_back(*piece == nullptr ? nullptr : *piece);
    });
  }
  bool waits() const { return waits_; }
  const std::vector<std::shared_ptr<const std::string>>& frames() const { return frames_; }

 private:
  bool waits_ = false;
  std::vector<std::shared_ptr<const std::string>> frames_;
  std::shared_ptr<BodySource> source_;
};

TEST_F(ApiTest, ASlowReaderSkipsToTheNewestState) {
  Reader fast(*api_, 0), slow(*api_, 0);
  fast.Ask();
  slow.Ask();
  ASSERT_EQ(fast.frames().size(), 1U);
  EXPECT_EQ(fast.frames()[0], slow.frames()[0]) << "the same frame is shared";
  fast.Ask();
  EXPECT_TRUE(fast.waits());
  for (int round = 1; round <= 100; ++round) {
    job_.Task(0, core::TaskState::kRunning);
    job_.Measure(0, round * 1000);
    api_->broadcast().OnChange();
    ASSERT_TRUE(driver_.Await([&] {
      if (fast.waits()) driver_.Changed();
      return !fast.waits();
    }));
    fast.Ask();
  }
  EXPECT_EQ(fast.frames().size(), 101U);
  slow.Ask();
  ASSERT_EQ(slow.frames().size(), 2U);
  EXPECT_THAT(*slow.frames()[1], HasSubstr("100000"));
  EXPECT_THAT(*slow.frames()[1], Not(HasSubstr("99000")));
  EXPECT_THAT(*slow.frames()[1], Not(HasSubstr("worker:1"))) << "only what has changed";
}

TEST_F(ApiTest, ReadersHearWhatTheyMayDoAndNothingOfOthers) {
  constexpr char kMay[] = "\"may\":{\"stop\":true";
  job_.recorded_ = true;
  job_.can_stop_ = true;
  Reader control(*api_, 0, {.stop = true}), view(*api_, 0, {});
  control.Ask();
  view.Ask();
  EXPECT_THAT(*control.frames()[0], HasSubstr(kMay));
  EXPECT_THAT(*view.frames()[0], Not(HasSubstr(kMay)));
  // The job is lost, which only its next frame says.
  job_.can_stop_ = false;
  job_.Add(core::JobNote{"gone"});
  control.Ask();
  if (control.waits()) api_->broadcast().OnChange();
  ASSERT_TRUE(driver_.Await([&] {
    if (control.waits()) driver_.Changed();
    return !control.waits();
  }));
  EXPECT_THAT(*control.frames()[1], HasSubstr("event: job"));
  EXPECT_THAT(*control.frames()[1], Not(HasSubstr(kMay)));
}

TEST_F(ApiTest, AReaderThatKnowsTheJobGetsTheNews) {
  job_.Task(0, core::TaskState::kSucceeded);
  const int64_t known = job_.job_.view.last_sequence;
  job_.Task(1, core::TaskState::kRunning);
  job_.Task(2, core::TaskState::kFailed);
  Reader reader(*api_, known);
  reader.Ask();
  ASSERT_EQ(reader.frames().size(), 1U);
  EXPECT_THAT(*reader.frames()[0], HasSubstr(absl::StrCat("id: ", known + 2, "\nevent: job\n")));
  EXPECT_THAT(*reader.frames()[0], HasSubstr("worker:1"));
  EXPECT_THAT(*reader.frames()[0], HasSubstr("worker:2"));
  EXPECT_THAT(*reader.frames()[0], Not(HasSubstr("\"worker:0\"")));
}

TEST_F(ApiTest, CommentsKeepASilentStreamAlive) {
  api_ = std::make_unique<Api>(
      Api::Parts{.loop = driver_.loop(),
                 .job = job_,
                 .timing = {.comment = std::chrono::milliseconds(1), .pause = Duration::zero()}});
  Reader reader(*api_, 0);
  reader.Ask();
  reader.Ask();
  ASSERT_TRUE(driver_.Await([&] {
    if (reader.waits()) driver_.Changed();
    return !reader.waits();
  }));
  EXPECT_EQ(*reader.frames()[1], ":\n\n");
}

TEST_F(ApiTest, TheLastFrameSaysGoodbye) {
  std::optional<Reader> waiting(std::in_place, *api_, 0);
  waiting->Ask();
  waiting->Ask();
  std::optional<Reader> busy(std::in_place, *api_, 0);
  busy->Ask();
  bool done = false;
  api_->broadcast().Finish([&] { done = true; });
  ASSERT_EQ(waiting->frames().size(), 2U);
  EXPECT_THAT(*waiting->frames()[1], HasSubstr("event: bye\n"));
  waiting->Ask();
  EXPECT_EQ(waiting->frames()[2], nullptr);
  busy->Ask();
  EXPECT_THAT(*busy->frames()[1], HasSubstr("event: bye\n"));
  waiting.reset();
  EXPECT_FALSE(done);
  busy.reset();
  EXPECT_TRUE(done);
}

TEST_F(ApiTest, AStreamOutlivesTheApi) {
  Reader reader(*api_, 0);
  reader.Ask();
  reader.Ask();
  api_.reset();
  ASSERT_EQ(reader.frames().size(), 2U);
  EXPECT_EQ(reader.frames()[1], nullptr);
}

TEST(OpenApiDocument, IsWhole) {
  const Json document = Json::parse(OpenApiDocument());
  EXPECT_EQ(document["openapi"], "3.1.0");
  // Whatever a request may say has bounds, and whatever goes wrong a form.
  for (const auto& [path, operations] : document["paths"].items()) {
    for (const auto& [method, operation] : operations.items()) {
      EXPECT_TRUE(operation["responses"].contains("default")) << path;
      for (Json parameter : operation["parameters"]) {
        if (parameter.contains("$ref")) {
          const auto pointer = parameter["$ref"].get<std::string>().substr(1);
          parameter = document[Json::json_pointer(pointer)];
        }
        const Json& schema = parameter["schema"];
        const bool bounded = schema.contains("pattern") || schema.contains("enum") ||
                             schema.contains("maxLength") || schema.contains("maximum");
        EXPECT_TRUE(bounded) << path << " " << parameter["name"];
      }
    }
  }
}

class ApiMetricsTest : public ApiTest {
 protected:
  ApiMetricsTest() : ApiTest(9) {}

  void SetUp() override {
    for (int second = 0; second < 20; ++second) {
      for (int i = 0; i < 9; ++i) {
        core::TaskUsage usage;
        usage.seconds = second;
        usage.memory_bytes = 1'000'000 + i;
        usage.progress = core::Progress{.step = second, .values = {{"loss", 0.5}}};
        // One task is measured for a while only.
        if (i > 0 || second < 10) job_.metrics_.Take({"worker", i}, 1, usage, At(second));
      }
      job_.metrics_.AddBands(At(second));
    }
  }
  static int64_t At(int second) { return kNow - 100'000 + int64_t{second} * 1000; }
};

TEST_F(ApiMetricsTest, NamesWithUnitsAndTypes) {
  const Json json = GetJson("api/v1/jobs/job-1/metrics");
  std::vector<std::string> names;
  for (const Json& metric : json["metrics"]) names.push_back(metric["name"].get<std::string>());
  EXPECT_THAT(names, ::testing::IsSupersetOf({"memory", "step", "report.loss"}));
  EXPECT_EQ(json["types"][0], Json({{"type", "worker"}, {"tasks", 9}, {"bands", true}}));
  EXPECT_EQ(json["left_out"], 0);
}

TEST_F(ApiMetricsTest, SeriesOfTasksAndBandsHaveOneAxis) {
  const Json json = GetJson("api/v1/jobs/job-1/metrics", {{"names", "memory,report.loss,nonsense"},
                                                          {"tasks", "worker-0,worker-8,worker-9"},
                                                          {"types", "worker"},
                                                          {"to", absl::StrCat(At(20))},
                                                          {"points", "30"}});
  EXPECT_EQ(json["begin_millis"], At(0));
  EXPECT_EQ(json["step_millis"], 1000);
  ASSERT_EQ(json["series"].size(), 2 * (2 + 5));
  for (const Json& series : json["series"]) {
    for (const char* part : {"mean", "min", "max"}) {
      ASSERT_EQ(series[part].size(), json["points"].get<size_t>());
    }
  }
  const Json& first = json["series"][0];
  EXPECT_EQ(first["task"], "worker:0");
  EXPECT_EQ(first["mean"][9], 1'000'000);
  EXPECT_TRUE(first["mean"][15].is_null()) << "nothing was measured then";
  EXPECT_EQ(json["series"][1]["mean"][15], 1'000'008);
  EXPECT_EQ(json["series"][2]["quantile"], 0);
  EXPECT_EQ(json["series"][4]["type"], "worker");
}

TEST_F(ApiMetricsTest, WrongAndTooLargeWishes) {
  const std::string place = "api/v1/jobs/job-1/metrics";
  // A wrong parameter is an error also where it would change nothing.
  EXPECT_EQ(Get(place, {{"types", ""}}).status, 400);
  EXPECT_EQ(Get(place, {{"points", "0"}}).status, 400);
  EXPECT_EQ(Get(place, {{"names", "a b"}}).status, 400);
  EXPECT_EQ(Get(place, {{"names", "memory"}, {"points", "0"}}).status, 400);
  EXPECT_EQ(Get(place, {{"names", "memory"}, {"from", "-1"}}).status, 400);
  std::string names = "n0";
  std::string tasks = "worker-0";
  for (int i = 1; i < 32; ++i) {
    absl::StrAppend(&names, ",n", i);
    absl::StrAppend(&tasks, ",worker-", i);
  }
  EXPECT_EQ(Get(place, {{"names", names}, {"tasks", tasks}}).status, 400);
  EXPECT_EQ(Get(place, {{"names", names + ",more"}}).status, 400);
  const Json none = GetJson(place, {{"names", "memory"}, {"tasks", "nobody"}});
  EXPECT_EQ(none["series"], Json::array());
}

TEST_F(ApiMetricsTest, AdviceSaysWhyThereIsNone) {
  const Json json = GetJson("api/v1/jobs/job-1/advice");
  EXPECT_EQ(json["advice"], Json::array());
  EXPECT_EQ(json["xml"], "");
  EXPECT_EQ(json["reservations"].size(), 1);
}

}  // namespace
}  // namespace tony::web
