// Ending jobs of a ResourceManager of the test's own.
#include "client/yarn/yarn_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/backend/yarn/fake_resource_manager.h"
#include "tests/backend/yarn/yarn_configuration.h"

namespace tony::client {
namespace {

namespace yarn = ::hadoop::yarn;
using ::testing::HasSubstr;

constexpr char kId[] = "application_1700000000000_0042";

class YarnJobsTest : public testing::Test {
 protected:
  YarnJobsTest() {
    configuration_.SetResourceManager(manager_.endpoint());
    configuration_.options.staging_dir = folder_ / "staging";
    configuration_.options.timeout = std::chrono::milliseconds(300);
    jobs_ = YarnJobs::Open(configuration_.Find().value()).value();
    manager_.Answer("forceKillApplication", [](const std::string&) { return ""; });
  }

  /// The answers to the questions for a report, one after the other, and the last one again and
  /// again; without a state nobody answers.
  void Report(std::vector<std::optional<yarn::YarnApplicationStateProto>> states) {
    manager_.Answer("getApplicationReport",
                    [states = std::move(states),
                     asked = size_t{0}](const std::string&) mutable -> absl::StatusOr<std::string> {
                      const auto state = states[std::min(asked++, states.size() - 1)];
                      if (!state) return absl::UnavailableError("lost");
                      yarn::GetApplicationReportResponseProto response;
                      auto& report = *response.mutable_application_report();
                      report.mutable_applicationid()->set_cluster_timestamp(1700000000000);
                      report.mutable_applicationid()->set_id(42);
                      report.set_yarn_application_state(*state);
                      report.set_diagnostics("the reason");
                      return response.SerializeAsString();
                    });
  }
  absl::Status Stop(std::chrono::seconds wait = std::chrono::seconds(30)) {
    StoredJob job;
    job.id = kId;
    return jobs_->Stop(job, {.reason = "why", .wait = wait});
  }

  const os::TemporaryFolder folder_;
  backend::FakeResourceManager manager_;
  backend::YarnConfiguration configuration_;
  std::unique_ptr<YarnJobs> jobs_;
};

TEST_F(YarnJobsTest, AKilledJobHasAVerdict) {
  Report({yarn::ACCEPTED, yarn::ACCEPTED, yarn::KILLED});
  EXPECT_EQ(Stop(), absl::OkStatus());
  EXPECT_EQ(manager_.Calls("forceKillApplication"), 1);
}

TEST_F(YarnJobsTest, OneQuestionThatFailsDoesNotEndTheWait) {
  Report({yarn::ACCEPTED, std::nullopt, std::nullopt, yarn::KILLED});
  EXPECT_EQ(Stop(), absl::OkStatus());
}

TEST_F(YarnJobsTest, AnEndWithoutAVerdictIsSaid) {
  Report({yarn::ACCEPTED, yarn::FAILED});
  const absl::Status stopped = Stop();
  EXPECT_TRUE(absl::IsUnavailable(stopped)) << stopped;
  EXPECT_THAT(std::string(stopped.message()), HasSubstr("without a verdict"));
  EXPECT_THAT(std::string(stopped.message()), HasSubstr("the reason"));
}

TEST_F(YarnJobsTest, AJobOfAnotherClusterIsNamedAsSuch) {
  manager_.Answer("getApplications", [](const std::string&) { return ""; });
  os::Put(configuration_.Find()->staging() + "/jobs/application_1600000000000_0007/cluster",
          "elsewhere:8032");
  const auto jobs = jobs_->List();
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_EQ(jobs->size(), 1u);
  EXPECT_THAT(
      jobs->front().sentence,
      HasSubstr("submitted to another cluster, whose ResourceManager is at elsewhere:8032"));
}

TEST_F(YarnJobsTest, OneThatGoesOnIsNotWaitedForForEver) {
  Report({yarn::ACCEPTED});
  const absl::Status stopped = Stop(std::chrono::seconds(0));
  EXPECT_TRUE(absl::IsDeadlineExceeded(stopped)) << stopped;
}

}  // namespace
}  // namespace tony::client
