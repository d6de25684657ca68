// The page of a job in each of its states, and the site around it.
#include "web/job_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "web/http/html.h"
#include "web/job_site.h"
#include "web/page_files.h"

namespace tony::web {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kNow = 1'700'000'060'000;
/// The page without the one script that is its own.
std::string WithoutOwnScript(std::string page) {
  const std::string own = absl::StrCat("<script src=\"", PageScript().name, "\" defer></script>");
  const size_t at = page.find(own);
  EXPECT_NE(at, std::string::npos);
  return at == std::string::npos ? page : page.erase(at, own.size());
}

constexpr char kEvil[] = "<script>alert('x')</script>";

/// A job that lives as far as a test wants.
class SampleJob {
 public:
  explicit SampleJob(int workers = 2, const std::string& name = "mnist") {
    core::JobSubmitted submitted;
    submitted.job_id = "job-1";
    submitted.name = name;
    submitted.user = "ann";
    submitted.framework = "tensorflow";
    submitted.backend = "local";
    submitted.types = {{"worker", workers, true}};
    Add(std::move(submitted));
  }

  SampleJob& Add(core::JobEventBody body) {
    ++sequence_;
    job.Apply({sequence_, kNow - 60'000 + sequence_ * 1000, std::move(body)});
    return *this;
  }
  SampleJob& State(core::JobState state) { return Add(core::JobStateChanged{state, 0, ""}); }
  SampleJob& Task(int index, core::TaskState state, int code = 0,
                  const std::string& sentence = "") {
    core::TaskChanged change;
    change.task = {"worker", index};
    change.state = state;
    change.attempt = 1;
    change.host = "127.0.0.1";
    if (core::IsOver(state)) {
      change.exit = core::TaskExit{core::TaskExit::Cause::kExited, code, 0, "", {kEvil}};
    }
    change.sentence = sentence;
    return Add(std::move(change));
  }
  std::string Page() const { return RenderJobPage(job, kNow); }

  core::ObservedJob job;

 private:
  int64_t sequence_ = 0;
};

TEST(JobPage, AnAgeBelowATenthIsNoTag) {
  const SampleJob job;
  EXPECT_THAT(RenderJobPage(job.job, kNow - 59'000), HasSubstr("&lt;0.1s"));
}

TEST(JobPage, ARunningJob) {
  SampleJob job;
  job.State(core::JobState::kRunning).Task(0, core::TaskState::kRunning);
  const std::string page = job.Page();
  EXPECT_THAT(page, HasSubstr("<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>"));
  EXPECT_THAT(page, HasSubstr("<span class=\"badge running\">RUNNING</span></h1>"));
  EXPECT_THAT(page, HasSubstr("<b>worker:0</b>"));
  EXPECT_THAT(page, HasSubstr("<a href=\"logs/worker-0/attempt-1/stdout\">stdout</a>"));
  EXPECT_THAT(page, HasSubstr("<b>worker:1</b>"));
  EXPECT_THAT(page, Not(HasSubstr("logs/worker-1"))) << "it has not been started";
  EXPECT_THAT(page, HasSubstr("Waiting"));
  EXPECT_THAT(page, Not(HasSubstr("href=\"/"))) << "a link that leaves the proxy's path";
  EXPECT_THAT(WithoutOwnScript(page), Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("style=")));
}

TEST(JobPage, AFailedJobNamesWhoAndWhy) {
  SampleJob job;
  job.State(core::JobState::kRunning).Task(1, core::TaskState::kFailed, 3);
  core::Verdict verdict;
  verdict.outcome = core::Outcome::kFailed;
  verdict.reason = core::Reason::kTaskFailed;
  verdict.sentence = "worker:1 exited with code 3 & more";
  verdict.guilty = core::TaskId{"worker", 1};
  verdict.exit = core::TaskExit{core::TaskExit::Cause::kExited, 3, 0, "", {"line one", kEvil}};
  job.Add(core::JobEnded{verdict});
  const std::string page = job.Page();
  EXPECT_THAT(page, Not(HasSubstr("http-equiv=\"refresh\"")));
  EXPECT_THAT(page, HasSubstr("<section class=\"card bad\">"));
  EXPECT_THAT(page, HasSubstr("TASK_FAILED"));
  EXPECT_THAT(page, HasSubstr("worker:1 exited with code 3 &amp; more"));
  EXPECT_THAT(page, HasSubstr("<b>worker:1</b>, which exited with code 3"));
  EXPECT_THAT(page, HasSubstr("<pre>line one\n" + Escape(kEvil) + "</pre>"));
  EXPECT_THAT(page, Not(HasSubstr("Waiting")));
  EXPECT_THAT(WithoutOwnScript(page), Not(HasSubstr("<script")));
}

TEST(JobPage, OperationsAmongRanks) {
  SampleJob job;
  job.State(core::JobState::kRunning).Task(0, core::TaskState::kRunning);
  core::TaskUsage usage;
  usage.memory_bytes = 200'000'000;
  job.Add(core::TaskMeasured{{"worker", 0}, usage});
  EXPECT_THAT(job.Page(), Not(HasSubstr("Collectives"))) << "of a job without any";
  usage.collective = core::CollectiveUsage{.tensors = 120,
                                           .bytes = 1'300'000'000,
                                           .operations = 7,
                                           .by_number = 114,
                                           .by_request = 6,
                                           .negotiation_seconds = 12,
                                           .operation_seconds = 4.06,
                                           .waited_for_seconds = 3};
  job.Add(core::TaskMeasured{{"worker", 0}, usage});
  const std::string page = job.Page();
  EXPECT_THAT(page, HasSubstr("<th>Memory</th><th>Collectives</th>"));
  EXPECT_THAT(page,
              HasSubstr("title=\"120 tensors in 7 operations; cache hits: 114 of 120\">1.3 GB in "
                        "4.1 s; waited 12.0 s for others, they 3.0 s for it<"));
  EXPECT_THAT(page, HasSubstr("<td class=\"none\" data-column=\"Collectives\">"));
}

TEST(JobPage, AWaitThatIsOnRecordComesFirst) {
  SampleJob job;
  job.State(core::JobState::kAllocating)
      .Add(core::JobWaiting{"3 GB are not free", {"worker:0"}, "end job-0"});
  const std::string page = job.Page();
  EXPECT_THAT(page, HasSubstr("3 GB are not free; awaited: worker:0"));
  EXPECT_THAT(page, HasSubstr("end job-0"));
}

TEST(JobPage, Visualization) {
  SampleJob job;
  job.Add(core::VisualizationReady{{"worker", 0}, "http://127.0.0.1:6006"});
  EXPECT_THAT(job.Page(), HasSubstr("<a href=\"http://127.0.0.1:6006\">"));
  EXPECT_THAT(job.Page(), HasSubstr("tony open job-1 --tensorboard"));
  job.Add(core::VisualizationReady{{"worker", 0}, "javascript:alert(1)"});
  EXPECT_THAT(job.Page(), Not(HasSubstr("href=\"javascript")));
}

TEST(JobPage, EarlierAttemptsAndTheirReasons) {
  SampleJob job;
  EXPECT_THAT(job.Page(), Not(HasSubstr("ttempts")));
  job.State(core::JobState::kRunning)
      .Add(core::EpochOpened{1, "worker:1 exited with code 1", core::TaskId{"worker", 1}, 1, 3,
                             false, "RuntimeError: bad batch 17"});
  EXPECT_THAT(job.Page(), HasSubstr("<dt>Attempt</dt><dd>2</dd>"));
  EXPECT_THAT(job.Page(), HasSubstr("<h2>Earlier attempts</h2>\n<ul>\n<li>attempt 1, 1.0s: "
                                    "worker:1 exited with code 1, RuntimeError: bad batch 17"));
}

TEST(JobPage, AJobThatRunsDoesNotWait) {
  SampleJob job(1);
  job.State(core::JobState::kRunning);
  EXPECT_THAT(job.Page(), HasSubstr("Waiting"));
  job.Task(0, core::TaskState::kRunning);
  EXPECT_THAT(job.Page(), Not(HasSubstr("Waiting")));
}

TEST(JobPage, LogsThatAreKeptElsewhere) {
  SampleJob job;
  core::TaskChanged change{.task = {"worker", 0}, .state = core::TaskState::kRunning, .attempt = 1};
  change.log_url = "http://node:8042/logs";
  job.Add(change);
  EXPECT_THAT(job.Page(), HasSubstr("<a href=\"http://node:8042/logs\">all</a>"));
  change.log_url = "javascript:alert(1)";
  job.Add(change);
  EXPECT_THAT(job.Page(), Not(HasSubstr("href=\"javascript")));
  EXPECT_THAT(job.Page(), HasSubstr("javascript:alert(1)"));
}

TEST(JobPage, EverythingIsEscaped) {
  SampleJob job(1, kEvil);
  job.Task(0, core::TaskState::kFailed, 1, kEvil)
      .Add(core::EpochOpened{1, kEvil, std::nullopt, 0, 0, false, kEvil})
      .Add(core::JobNote{kEvil})
      .Add(core::JobWaiting{kEvil, {kEvil}, kEvil})
      .Add(core::VisualizationReady{{kEvil, 0}, kEvil});
  EXPECT_THAT(WithoutOwnScript(job.Page()), Not(HasSubstr("<script")));
  EXPECT_THAT(job.Page(), Not(HasSubstr("alert('x')")));
}

TEST(JobPage, AnEmptyJob) {
  const core::ObservedJob job;
  EXPECT_THAT(RenderJobPage(job, kNow), HasSubstr("</html>"));
}

TEST(JobPage, OfVeryManyTasksTheFailedOnesAreShown) {
  SampleJob job(3000);
  job.Task(2999, core::TaskState::kFailed, 1);
  const std::string page = job.Page();
  EXPECT_THAT(page, HasSubstr("<b>worker:2999</b>"));
  EXPECT_THAT(page, HasSubstr("and 2000 more"));
}

/// Lets in who knows the way; logs are made up.
class JobSiteTest : public ::testing::Test, public Access, public LogSource {
 protected:
  std::string base_path() const override { return "/base/"; }
  std::optional<HttpResponse> Check(const HttpRequest&) override {
    if (!open_) return ErrorResponse(403, "closed");
    return std::nullopt;
  }
  bool direct() const override { return true; }
  std::optional<HttpResponse> CheckChange(const HttpRequest&) override { return std::nullopt; }
  void ReadTail(const core::TaskId& task, int attempt, Stream stream, size_t most,
                Take take) override {
    asked_ = task.ToString() + " " + std::to_string(attempt) +
             (stream == Stream::kStdout ? " stdout " : " stderr ") + std::to_string(most);
    take(tail_);
  }

  HttpResponse Get(const std::string& path) {
    HttpRequest request;
    request.path = path;
    std::optional<HttpResponse> got;
    site_.Handle(request, [&](HttpResponse response) { got = std::move(response); });
    EXPECT_TRUE(got.has_value()) << path;
    return got.value_or(HttpResponse{});
  }

  SampleJob job_;
  bool open_ = true;
  absl::StatusOr<LogTail> tail_ = LogTail{"hello\n", 0};
  std::string asked_;
  JobSite site_{{*this, *this, [this]() -> const core::ObservedJob& { return job_.job; },
                 [] { return kNow; }}};
};

TEST_F(JobSiteTest, PageAndStyle) {
  EXPECT_THAT(Get("/base/").body, HasSubstr("mnist"));
  const HttpResponse style = Get(absl::StrCat("/base/", PageStyle().name));
  EXPECT_EQ(style.content_type, "text/css; charset=utf-8");
  EXPECT_THAT(style.body, Not(HasSubstr("url(")));
  EXPECT_THAT(style.body, Not(HasSubstr("@import")));
}

TEST_F(JobSiteTest, NothingWithoutAccess) {
  open_ = false;
  for (const std::string& path : {std::string("/base/"), absl::StrCat("/base/", PageScript().name),
                                  std::string("/base/logs/worker-0/attempt-1/stdout")}) {
    EXPECT_EQ(Get(path).status, 403) << path;
  }
  EXPECT_EQ(asked_, "");
}

TEST_F(JobSiteTest, WithoutATokenThereAreNoMetricsAtTheFixedPath) {
  EXPECT_EQ(Get("/metrics").status, 404);
  open_ = false;
  EXPECT_EQ(Get("/metrics").status, 403);
}

TEST_F(JobSiteTest, LogsAreTextWhateverTheyHold) {
  job_.Task(0, core::TaskState::kRunning);
  tail_ = LogTail{kEvil, 0};
  const HttpResponse log = Get("/base/logs/worker-0/attempt-1/stderr");
  EXPECT_EQ(log.content_type, "text/plain; charset=utf-8");
  EXPECT_EQ(log.body, kEvil);
  EXPECT_EQ(asked_, "worker:0 1 stderr 262144");
}

TEST_F(JobSiteTest, ALongLogBeginsWithALine) {
  job_.Task(0, core::TaskState::kRunning);
  tail_ = LogTail{"of a line\nwhole\n", 1000};
  EXPECT_EQ(Get("/base/logs/worker-0/attempt-1/stdout").body,
            "[1010 bytes before this are not shown; all of it: tony logs job-1 worker:0]\nwhole\n");
}

TEST_F(JobSiteTest, LogsThatAreNotThere) {
  job_.Task(0, core::TaskState::kRunning);
  for (const char* place :
       {"worker-0/attempt-2/stdout", "worker-0/attempt-0/stdout", "worker-0/attempt--1/stdout",
        "worker-0/attempt-1/passwd", "worker-1/attempt-1/stdout", "worker-2/attempt-1/stdout",
        "worker-00/attempt-1/stdout", "worker-+0/attempt-1/stdout", "../worker-0/attempt-1/stdout",
        "worker-0/attempt-1/stdout/", "ps-0/attempt-1/stdout", "worker/attempt-1/stdout", "",
        "/"}) {
    EXPECT_EQ(Get(std::string("/base/logs/") + place).status, 404) << place;
  }
  EXPECT_EQ(asked_, "");
  tail_ = absl::NotFoundError("no file");
  EXPECT_EQ(Get("/base/logs/worker-0/attempt-1/stdout").status, 404);
  tail_ = absl::UnavailableError("the executor <is> gone");
  const HttpResponse log = Get("/base/logs/worker-0/attempt-1/stdout");
  EXPECT_EQ(log.status, 503);
  EXPECT_THAT(log.body, HasSubstr("the executor &lt;is&gt; gone"));
}

TEST_F(JobSiteTest, OtherPlaces) {
  for (const char* path : {"/", "/base", "/base/x", "/other/", "/base/../base/"}) {
    EXPECT_EQ(Get(path).status, 404) << path;
  }
}

}  // namespace
}  // namespace tony::web
