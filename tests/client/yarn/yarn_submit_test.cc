// Submissions to a ResourceManager of the test's own whose answers are lost.
#include "client/yarn/yarn_submit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "backend/yarn/yarn_job.h"
#include "client/cli/messages.h"
#include "tests/backend/yarn/fake_resource_manager.h"
#include "tests/client/staged_job.h"

namespace tony::client {
namespace {

namespace yarn = ::hadoop::yarn;
using ::testing::HasSubstr;

constexpr char kId[] = "application_1700000000000_0042";

class YarnSubmitTest : public StagedJobTest {
 protected:
  YarnSubmitTest() {
    environment_.home = folder_.path();
    environment_.hadoop_user = "bob";
    environment_.hadoop_conf_dir = folder_ / "conf";
    std::string properties;
    for (const auto& [name, value] :
         {std::pair<std::string, std::string>("yarn.resourcemanager.hostname", "rm"),
          {"yarn.resourcemanager.address", hadoop::ToString(manager_.endpoint())}}) {
      absl::StrAppend(&properties, "<property><name>", name, "</name><value>", value,
                      "</value></property>");
    }
    os::Put(folder_ / "conf/core-site.xml",
            absl::StrCat("<configuration>", properties, "</configuration>"));
    os::Put(folder_ / "runtime.tar.gz", "a runtime");
    options_.detach = true;
    yarn::GetNewApplicationResponseProto created;
    created.mutable_application_id()->set_cluster_timestamp(1700000000000);
    created.mutable_application_id()->set_id(42);
    created.mutable_maximumcapability()->set_memory(100'000);
    created.mutable_maximumcapability()->set_virtual_cores(100);
    manager_.Answer("getNewApplication",
                    [answer = created.SerializeAsString()](const std::string&) { return answer; });
    manager_.Answer("getApplications", [](const std::string&) { return ""; });
  }

  static absl::StatusOr<std::string> NoAnswer(const std::string& /*request*/) {
    return absl::UnavailableError("lost");
  }
  int Submit() {
    os::Put(folder_ / "program/train.py", "pass");
    const jobfile::LoadedJob job = Load({{"tony.backend", "yarn"},
                                         {"tony.application.src-dir", folder_ / "program"},
                                         {"tony.yarn.runtime", folder_ / "runtime.tar.gz"},
                                         {"tony.yarn.staging-dir", "file:" + (folder_ / "shared")},
                                         {"tony.yarn.timeout-ms", "300"}});
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    const int code = RunYarnJob(options_, environment_, job, nullptr);
    out_ = testing::internal::GetCapturedStdout();
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }
  bool HasFiles() const {
    return std::filesystem::exists(folder_ / "shared/bob/" + backend::JobFolderName(kId));
  }
  bool HasKeysHere() const {
    return std::filesystem::exists(storage::StagingFolder(local_dir_) + "/" + kId);
  }

  backend::FakeResourceManager manager_;
  SubmitOptions options_;
  Environment environment_;
  std::string out_;
  std::string said_;
};

TEST_F(YarnSubmitTest, WhatYarnHasTakenGoesOnThoughItsAnswerWasLost) {
  manager_.Answer("submitApplication", NoAnswer);
  yarn::ApplicationReportProto report;
  report.mutable_applicationid()->set_cluster_timestamp(1700000000000);
  report.mutable_applicationid()->set_id(42);
  report.set_yarn_application_state(yarn::ACCEPTED);
  manager_.AnswerReport(report);
  const std::string cut_off = folder_ / "shared/bob/cache/.tony-1";
  os::Put(cut_off, "half");
  std::filesystem::last_write_time(
      cut_off, std::filesystem::file_time_type::clock::now() - std::chrono::days(2));
  EXPECT_EQ(Submit(), 0);
  EXPECT_EQ(out_, absl::StrCat(kId, "\n"));
  EXPECT_THAT(said_, HasSubstr("YARN has taken application_1700000000000_0042"));
  EXPECT_TRUE(HasFiles());
  EXPECT_FALSE(HasKeysHere());
  EXPECT_FALSE(std::filesystem::exists(cut_off));
}

TEST_F(YarnSubmitTest, WhatYarnHasNotTakenLeavesNothing) {
  manager_.Answer("submitApplication", NoAnswer);
  manager_.Throw("getApplicationReport", "x.ApplicationNotFoundException");
  EXPECT_EQ(Submit(), kInfrastructure);
  EXPECT_FALSE(HasFiles());
}

TEST_F(YarnSubmitTest, FilesStayWhileNobodySaysWhetherYarnHasTakenIt) {
  manager_.Answer("submitApplication", NoAnswer);
  manager_.Answer("getApplicationReport", NoAnswer);
  EXPECT_EQ(Submit(), kInfrastructure);
  EXPECT_THAT(said_, HasSubstr("tony kill application_1700000000000_0042 ends it"));
  EXPECT_TRUE(HasFiles());
  EXPECT_FALSE(HasKeysHere());
}

TEST_F(YarnSubmitTest, ARefusalIsAnAnswer) {
  manager_.Throw("submitApplication", "x.InvalidResourceRequestException");
  EXPECT_EQ(Submit(), kBadUsage);
  EXPECT_EQ(manager_.Calls("getApplicationReport"), 0);
  EXPECT_FALSE(HasFiles());
}

}  // namespace
}  // namespace tony::client
