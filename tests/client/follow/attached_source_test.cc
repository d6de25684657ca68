// A client that joins a job whose ApplicationMaster cannot be reached, until the catalog says more.
#include "client/follow/attached_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tony::client {
namespace {

using ::testing::HasSubstr;

/// A catalog of one job that has no ApplicationMaster to connect to. Not thread safe.
class Unreachable : public JobCatalog {
 public:
  absl::StatusOr<std::vector<StoredJob>> List() override { return std::vector<StoredJob>(); }
  absl::StatusOr<StoredJob> Find(const std::string& /*wish*/) override {
    absl::StatusOr<StoredJob> next = looks.front();
    if (looks.size() > 1) looks.pop_front();
    return next;
  }
  absl::Status ReadEvents(const StoredJob& /*job*/, const history::UseEvent& /*use*/) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::string> ReadMetrics(const StoredJob& /*job*/) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<KeptStacks> ReadStacks(const StoredJob& /*job*/) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<Logs> FindLogs(const StoredJob& job, const LogRequest& /*request*/) override {
    return Logs{job.folder, false, "", nullptr};
  }
  absl::Status Stop(const StoredJob& /*job*/, const StopWish& /*wish*/) override {
    return absl::UnimplementedError("a guest stops nothing");
  }
  absl::StatusOr<std::vector<StoredJob>> AwaitEnds(const std::vector<StoredJob>& jobs,
                                                   Duration /*limit*/) override {
    return jobs;
  }
  absl::Status Remove(const StoredJob& /*job*/, bool /*checkpoints*/) override {
    return absl::UnimplementedError("a guest removes nothing");
  }
  absl::StatusOr<std::unique_ptr<rpc::JobClient>> Connect(const StoredJob& /*job*/) override {
    ++connections;
    return absl::UnavailableError("no ApplicationMaster");
  }

  std::deque<absl::StatusOr<StoredJob>> looks;
  int connections = 0;
};

StoredJob Alive() {
  StoredJob job;
  job.id = "job-a";
  job.alive = true;
  return job;
}

class AttachedSourceTest : public ::testing::Test {
 protected:
  /// Follows the job to its end; returns the reason, with the verdict in `verdict_`.
  absl::Status Follow() {
    EventLoop loop;
    AttachedSource source(loop, jobs_, Alive());
    absl::Status why;
    source.Start({[](std::unique_ptr<rpc::JobClient>) { FAIL(); },
                  [&](const std::optional<core::Verdict>& verdict, const absl::Status& status) {
                    verdict_ = verdict;
                    why = status;
                    loop.Stop();
                  }});
    testing::internal::CaptureStderr();
    loop.Run();
    said_ = testing::internal::GetCapturedStderr();
    return why;
  }

  Unreachable jobs_;
  std::optional<core::Verdict> verdict_;
  std::string said_;
};

TEST_F(AttachedSourceTest, TheCatalogsVerdictCounts) {
  StoredJob ended = Alive();
  ended.job.view.verdict = core::Verdict{.outcome = core::Outcome::kSucceeded};
  jobs_.looks = {Alive(), absl::UnavailableError("busy"), ended};
  EXPECT_EQ(Follow(), absl::OkStatus());
  ASSERT_TRUE(verdict_.has_value());
  EXPECT_EQ(verdict_->outcome, core::Outcome::kSucceeded);
  EXPECT_EQ(jobs_.connections, 2);
  EXPECT_EQ(said_, "waiting for the ApplicationMaster of job job-a\n");
}

TEST_F(AttachedSourceTest, ALostJobHasNoVerdict) {
  StoredJob lost = Alive();
  lost.alive = false;
  lost.sentence = "its ApplicationMaster went away";
  jobs_.looks = {lost};
  EXPECT_EQ(Follow(),
            absl::UnavailableError("job job-a has no verdict: its ApplicationMaster went away"));
  EXPECT_FALSE(verdict_.has_value());
}

TEST_F(AttachedSourceTest, ARemovedJobIsOver) {
  jobs_.looks = {absl::NotFoundError("no job 'job-a'")};
  EXPECT_TRUE(absl::IsNotFound(Follow()));
}

}  // namespace
}  // namespace tony::client
