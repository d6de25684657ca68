// The part of the API that shows where programs are, and takes new stacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/web/api/api_case.h"

namespace tony::web {
namespace {

/// Programs whose stacks a test tells.
class TestStacks : public JobStacks {
 public:
  const core::StackReport* last() const override { return last_ ? &*last_ : nullptr; }
  void TakeAll(Answer answer) override {
    if (!full_) last_ = Hang();
    if (full_) return answer(absl::ResourceExhaustedError("4 requests are going on"));
    answer(*last_);
  }

  /// Two ranks wait for a third, and a fourth tells nothing.
  static core::StackReport Hang() {
    core::StackReport report{.unix_millis = kNow, .stacks = {}, .tasks = {}};
    report.stacks = {
        {.frames = {{"train.py", 7, "reduce"}, {"train.py", 9, "<module>"}}},
        {.frames = {{"train.py", 5, "load"}, {"train.py", 9, "<module>"}}, .cut = true}};
    for (int i = 0; i < 4; ++i) {
      core::TaskStacks task{{"worker", i}, "node7", 2, "", {}};
      if (i < 3) {
        task.processes.push_back({100 + i,
                                  7,
                                  1,
                                  "python3",
                                  "faulthandler",
                                  "",
                                  {{"Thread 0x1", i == 1 ? 1 : 0, /*main=*/true}}});
      } else {
        task.trouble = "its executor has lost its connection";
      }
      report.tasks.push_back(std::move(task));
    }
    return report;
  }

  bool full_ = false;

 private:
  std::optional<core::StackReport> last_;
};

class ApiStacksTest : public ApiTest {
 protected:
  ApiStacksTest() { api_ = MakeApi(&stacks_); }

  TestStacks stacks_;
};

TEST_F(ApiStacksTest, StacksAreTakenAndThenShown) {
  const std::string place = "api/v1/jobs/job-1/stacks";
  EXPECT_TRUE(GetJson("api/v1/jobs/job-1")["may"]["stacks"].get<bool>());
  EXPECT_TRUE(GetJson(place)["taken_millis"].is_null());
  const HttpResponse taken = Post("{}", "application/json", "stacks");
  EXPECT_EQ(taken.status, 200);
  const Json stacks = GetJson(place);
  EXPECT_EQ(Json::parse(taken.body), stacks);
  EXPECT_EQ(stacks["taken_millis"].get<int64_t>(), kNow);
  EXPECT_EQ(stacks["suspect"],
            "worker:1 is in load (train.py:5) while 2 others are in reduce (train.py:7)");
  ASSERT_EQ(stacks["groups"].size(), 2u);
  const Json& suspect = stacks["groups"][0];
  EXPECT_TRUE(suspect["suspect"].get<bool>());
  EXPECT_TRUE(suspect["cut"].get<bool>());
  EXPECT_EQ(suspect["members"][0]["task"], "worker:1");
  EXPECT_EQ(suspect["members"][0]["pid"], 101);
  EXPECT_EQ(suspect["frames"][0]["function"], "load");
  EXPECT_EQ(stacks["groups"][1]["members"].size(), 2u);
  EXPECT_EQ(stacks["troubles"][0]["task"], "worker:3");
  EXPECT_TRUE(stacks["troubles"][0]["pid"].is_null());
}

TEST_F(ApiStacksTest, StacksAreTakenOnAProperRequestOfARunningJobOnly) {
  const std::string json = "application/json";
  refusal_ = ProblemResponse(403, "not from there");
  EXPECT_EQ(Post("{}", json, "stacks").status, 403);
  refusal_.reset();
  EXPECT_EQ(Post("{}", "text/plain", "stacks").status, 415);
  EXPECT_EQ(Post("[]", json, "stacks").status, 400);
  EXPECT_EQ(Post(R"({"all":1})", json, "stacks").status, 400);
  stacks_.full_ = true;
  EXPECT_EQ(Post("{}", json, "stacks").status, 503);
  EXPECT_EQ(stacks_.last(), nullptr);
  job_.Add(core::JobEnded{});
  EXPECT_EQ(Post("{}", json, "stacks").status, 409);
  EXPECT_FALSE(GetJson("api/v1/jobs/job-1")["may"]["stacks"].get<bool>());
}

/// Has kept one text.
class TestKeptStacks : public KeptStacks {
 public:
  void Read(const core::JobView& view, Abandoned /*abandoned*/, Take take) override {
    if (busy_) return take(absl::ResourceExhaustedError("too many requests"));
    tasks_ = view.tasks.size();
    take(KeptStacksPage{{{"", 0, "The job seems to hang\n", false}, {"worker:1", 2, "x\n", true}},
                        3});
  }
  bool busy_ = false;
  size_t tasks_ = 0;
};

TEST_F(ApiStacksTest, KeptOnesAreShownOfAJobThatIsOver) {
  EXPECT_TRUE(GetJson("api/v1/jobs/job-1/stacks")["kept"].empty());
  TestKeptStacks kept;
  job_.Task(0, core::TaskState::kFailed);
  job_.Add(core::JobEnded{});
  job_.recorded_ = true;
  api_ = std::make_unique<Api>(
      Api::Parts{.loop = driver_.loop(), .job = job_, .kept_stacks = &kept, .timing = timing_});
  const Json stacks = GetJson("api/v1/jobs/job-1/stacks");
  EXPECT_TRUE(stacks["taken_millis"].is_null());
  EXPECT_EQ(kept.tasks_, job_.Job().view.tasks.size());
  ASSERT_EQ(stacks["kept"].size(), 2U);
  EXPECT_TRUE(stacks["kept"][0]["task"].is_null());
  EXPECT_EQ(stacks["kept"][0]["text"], "The job seems to hang\n");
  EXPECT_FALSE(stacks["kept"][0]["cut"].get<bool>());
  EXPECT_EQ(stacks["kept"][1]["task"], "worker:1");
  EXPECT_EQ(stacks["kept"][1]["attempt"], 2);
  EXPECT_TRUE(stacks["kept"][1]["cut"].get<bool>());
  EXPECT_EQ(stacks["kept_left_out"], 3);
  kept.busy_ = true;
  EXPECT_EQ(Get("api/v1/jobs/job-1/stacks").status, 429);
}

TEST_F(ApiStacksTest, ThroughAProxyNoneAreShown) {
  stacks_.TakeAll([](const absl::StatusOr<core::StackReport>&) {});
  api_ = std::make_unique<Api>(Api::Parts{
      .loop = driver_.loop(), .job = job_, .stacks = &stacks_, .direct = false, .timing = timing_});
  const HttpResponse refused = Get("api/v1/jobs/job-1/stacks");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(Json::parse(refused.body)["command"], "tony stacks job-1");
}

}  // namespace
}  // namespace tony::web
