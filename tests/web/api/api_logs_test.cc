// The resource that merges logs: its parameters, cursors and sentences.
#include <gmock/gmock.h>

#include "tests/web/api/api_case.h"

namespace tony::web {
namespace {

using ::testing::HasSubstr;

/// Logs that a test fills; it keeps what was asked for.
class TestLogs : public JobLogs {
 public:
  void ReadBlock(const LogName&, int64_t, size_t, Abandoned, Take<logs::LogBlock> take) override {
    take(absl::NotFoundError("none"));
  }
  void Search(const LogName&, const logs::LogSearch& search, Abandoned,
              Take<logs::LogBlock> take) override {
    search_ = search;
    take(absl::NotFoundError("none"));
  }
  void Merge(const core::JobView&, const MergeWish& wish, Abandoned,
             Take<MergedLines> take) override {
    wish_ = wish;
    take(merged_);
  }
  void FindErrors(const core::JobView&, Abandoned, Take<JobErrors> take) override { take(errors_); }
  void OpenRaw(const LogName&, Abandoned, Take<RawLog> take) override {
    take(absl::NotFoundError("none"));
  }

  MergeWish wish_;
  std::optional<logs::LogSearch> search_;
  MergedLines merged_;
  JobErrors errors_;
};

class ApiLogsTest : public ApiTest {
 protected:
  ApiLogsTest() {
    api_ = std::make_unique<Api>(
        Api::Parts{.loop = driver_.loop(), .job = job_, .logs = &logs_, .timing = timing_});
  }

  TestLogs logs_;
  const std::string place_ = "api/v1/jobs/job-1/logs";
};

TEST_F(ApiLogsTest, ACursorLeadsToWhereThePageEnded) {
  logs_.merged_.lines = {{17, "worker:1", 2, "stderr", "hello"}, {0, "worker:2", 1, "stdout", "x"}};
  logs_.merged_.next = {{17, 3}, "parameter-server-1"};
  logs_.merged_.notes = {"worker:3 did not answer within 2 s"};
  const Json page = GetJson(place_, {{"task", "worker"}, {"since", "5"}});
  EXPECT_EQ(page["rows"][0], Json::array({17, "worker:1", 2, "stderr", "hello"}));
  EXPECT_EQ(page["rows"][1][0], nullptr);
  EXPECT_EQ(page["next"], "17-3-parameter-server-1");
  EXPECT_EQ(page["notes"], Json::array({"worker:3 did not answer within 2 s"}));
  EXPECT_FALSE(logs_.wish_.cursor.has_value());
  EXPECT_EQ(logs_.wish_.since_millis, 5);
  GetJson(place_, {{"cursor", page["next"].get<std::string>()}});
  ASSERT_TRUE(logs_.wish_.cursor.has_value());
  EXPECT_EQ(logs_.wish_.cursor->place, (logs::MergePlace{17, 3}));
  EXPECT_EQ(logs_.wish_.cursor->task, "parameter-server-1");
}

TEST_F(ApiLogsTest, WhatIsNotHereYetIsSaid) {
  LogsState state{false, "They are being copied."};
  api_ = std::make_unique<Api>(Api::Parts{.loop = driver_.loop(),
                                          .job = job_,
                                          .logs = &logs_,
                                          .logs_state = [&state] { return state; },
                                          .timing = timing_});
  const std::string job = "api/v1/jobs/job-1";
  job_.Task(0, core::TaskState::kRunning);
  EXPECT_EQ(GetJson(job)["may"]["logs"], false);
  EXPECT_EQ(GetJson(job)["may"]["logs_note"], "They are being copied.");
  for (const char* what : {"/logs", "/logs/worker-0/1/stdout", "/errors"}) {
    const HttpResponse refused = Get(job + what);
    EXPECT_EQ(refused.status, 503) << what;
    EXPECT_THAT(refused.body, HasSubstr("They are being copied.")) << what;
  }
  const std::string old_tag = TagOf(Get(job));
  state = {true, "Not all are here."};
  EXPECT_EQ(GetJson(job)["may"]["logs"], true);
  EXPECT_EQ(GetJson(job)["may"]["logs_note"], "Not all are here.");
  EXPECT_EQ(Get(job + "/logs").status, 200);
  const std::string tag = TagOf(Get(job));
  EXPECT_NE(tag, old_tag);
  state = {true, ""};
  EXPECT_EQ(GetJson(job)["may"]["logs_note"], nullptr);
  EXPECT_NE(TagOf(Get(job)), tag);
}

TEST_F(ApiLogsTest, ACursorMayNameNoTask) {
  logs_.merged_.next = {{0, 0}, ""};
  const Json page = GetJson(place_);
  EXPECT_EQ(page["next"], "0-0");
  GetJson(place_, {{"cursor", "0-0"}});
  EXPECT_EQ(logs_.wish_.cursor->place, logs::MergePlace{});
  EXPECT_EQ(logs_.wish_.cursor->task, "");
  logs_.merged_.empty = true;
  EXPECT_EQ(GetJson(place_)["next"], nullptr);
}

TEST_F(ApiLogsTest, WhatIsNoCursorIsRefused) {
  for (const char* text : {"1", "x-1", "1-x", "-1-0", "1--1", "1-1-", "1-1-worker", "1-1-worker-x",
                           "99999999999999999-0"}) {
    EXPECT_EQ(Get(place_, {{"cursor", text}}).status, 400) << text;
  }
}

TEST_F(ApiLogsTest, AnyLogIsSearchedByPatternAndLevel) {
  Get(place_ + "/am/0/am", {{"match", "x"}, {"level", "warning"}});
  ASSERT_TRUE(logs_.search_.has_value());
  EXPECT_EQ(logs_.search_->pattern, "x");
  EXPECT_EQ(logs_.search_->level, LogLevel::kWarning);
  EXPECT_TRUE(logs_.search_->levels);
  job_.Task(0, core::TaskState::kRunning);
  const std::string task = "/worker-0/1/stderr";
  Get(place_ + task, {{"level", "error"}});
  EXPECT_EQ(logs_.search_->level, LogLevel::kError);
  EXPECT_EQ(logs_.search_->pattern, "");
  EXPECT_FALSE(logs_.search_->levels);
  logs_.search_.reset();
  Get(place_ + task);
  EXPECT_FALSE(logs_.search_.has_value());  // a block is read, and nothing is searched
  EXPECT_EQ(Get(place_ + task, {{"level", "loud"}}).status, 400);
  Get(place_, {{"match", "x"}, {"level", "error"}});
  EXPECT_EQ(logs_.wish_.match, "x");
  EXPECT_EQ(logs_.wish_.level, "error");
}

TEST_F(ApiLogsTest, AnErrorSaysWhereItStandsInItsLog) {
  logs_.errors_.failure = {"it failed", core::TaskId{"worker", 1}, 2, {}};
  logs_.errors_.own = {"worker:1", 2, "stderr", 7, 0, {"before"}, {"KeyError: 1"}, false, 4711};
  logs_.errors_.after = {"worker:0", 1, "stdout", 1, 0, {}, {"error"}, true, 0};
  const Json errors = GetJson("api/v1/jobs/job-1/errors", {});
  EXPECT_EQ(errors["own"]["offset"], 4711);
  EXPECT_EQ(errors["own"]["stream"], "stderr");
  EXPECT_EQ(errors["own"]["attempt"], 2);
  EXPECT_EQ(errors["after"]["offset"], 0);
  logs_.errors_.own->offset = -1;
  EXPECT_EQ(GetJson("api/v1/jobs/job-1/errors", {})["own"]["offset"], nullptr);
}

}  // namespace
}  // namespace tony::web
