// Jobs from job files in a temporary folder, and what staging made of them.
#pragma once

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/staging/staging.h"
#include "jobfile/job/job_builder.h"
#include "storage/job_folder.h"
#include "tests/backend/local/job_ids.h"
#include "tests/os/temporary_folder.h"
#include "tony/v1/staging.pb.h"

namespace tony::client {

/// Loads and stages jobs whose local folder is temporary.
class StagedJobTest : public ::testing::Test {
 protected:
  using Properties = std::map<std::string, std::string>;

  /// A job with one small worker, unless `properties` say otherwise. Fails the test when it has
  /// problems.
  jobfile::LoadedJob Load(const Properties& properties) {
    Properties all = {{"tony.application.name", "test"}, {"tony.local.dir", local_dir_},
                      {"tony.worker.instances", "1"},    {"tony.worker.memory", "64m"},
                      {"tony.worker.vcores", "1"},       {"tony.worker.command", "exit 0"},
                      {"tony.task.kill-grace-ms", "200"}};
    for (const auto& [name, value] : properties) all[name] = value;
    jobfile::Sources sources;
    for (const auto& [name, value] : all) sources.overrides.push_back({name, value});
    sources.working_folder = folder_.path();
    sources.home_folder = folder_.path();
    jobfile::LoadedJob job = jobfile::LoadJob(sources);
    EXPECT_TRUE(job.result.ok()) << jobfile::RenderProblems(job.result.problems);
    return job;
  }
  absl::Status StageLoaded(const jobfile::LoadedJob& job) {
    absl::StatusOr<os::UniqueFd> guard = StageJob(job, job_id_, job_folder_);
    const absl::Status status = guard.status();
    if (status.ok()) guard_ = *std::move(guard);
    return status;
  }
  absl::Status Stage(const Properties& properties = {}) { return StageLoaded(Load(properties)); }

  v1::StagedFiles Staged() const {
    v1::StagedFiles staged;
    const auto status =
        google::protobuf::util::JsonStringToMessage(os::Contents(job_folder_.staged()), &staged);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return staged;
  }

  os::TemporaryFolder folder_;
  const std::string local_dir_ = folder_ / "local dir";
  /// Executors are known by it among all processes, so tests that run side by side differ in it.
  const std::string job_id_ =
      backend::TestJobId(static_cast<uint32_t>(std::hash<std::string>()(folder_.path())));
  const storage::JobFolder job_folder_{local_dir_ + "/jobs/" + job_id_};
  os::UniqueFd guard_;  ///< on the job that was staged
};

}  // namespace tony::client
