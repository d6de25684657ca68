// The folder of a step in a cluster's file system (docs/design/steps.md).
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backend/yarn/yarn_cluster.h"
#include "common/clock.h"
#include "storage/job_files.h"

namespace tony::client {

/// One step of this user. All calls: the codes of storage::JobFiles. Not thread safe.
class YarnStep {
 public:
  /// The codes of backend::YarnCluster::OpenStaging().
  static absl::StatusOr<YarnStep> Open(const backend::YarnCluster& cluster, const std::string& key);

  /// Removes the folders of steps that no attempt has used for `days`, whose last jobs are over,
  /// and that hold no checkpoints; 0 or less: no step is too old. Ends early once `stop` is
  /// requested. The codes of storage::JobFiles and of backend::ApplicationClient::List().
  static absl::Status RemoveOld(const backend::YarnCluster& cluster, const Clock& clock,
                                std::chrono::days days, const std::stop_token& stop);

  /// The newest job that an attempt has taken the step for. Plain data.
  struct Taken {
    int number = 0;  ///< jobs so far; 0: there was none
    std::string job;
  };
  /// The codes of storage::JobFiles.
  absl::StatusOr<Taken> Last();
  /// Takes the step for `job`, which is not submitted yet, as the job of this number. AlreadyExists
  /// – another attempt was faster.
  absl::Status Take(int number, const std::string& job);

  /// Whether the ApplicationMaster of `job` has begun. The codes of storage::JobFiles.
  absl::StatusOr<bool> HasBegun(const std::string& job);
  /// Gives up a job that was not submitted; its ApplicationMaster, if there is one after all, does
  /// not begin. False: it has begun before. The codes of storage::JobFiles.
  absl::StatusOr<bool> GiveUp(const std::string& job);
  /// Whether an attempt has given up `job`. The codes of storage::JobFiles.
  absl::StatusOr<bool> IsGivenUp(const std::string& job);

  /// The codes of storage::JobFiles.
  absl::StatusOr<bool> IsReported(const std::string& job);
  /// The codes of storage::JobFiles.
  absl::Status MarkReported(const std::string& job);

  /// The checkpoint folder of a job that names none.
  const std::string& checkpoints() const { return checkpoints_; }
  /// The codes of storage::JobFiles.
  absl::Status RemoveCheckpoints();

 private:
  YarnStep(std::unique_ptr<storage::JobFiles> files, std::string folder, std::string checkpoints)
      : files_(std::move(files)),
        folder_(std::move(folder)),
        checkpoints_(std::move(checkpoints)) {}
  /// The contents of the job's claim; empty: there is none.
  absl::StatusOr<std::string> ReadClaim(const std::string& job);

  std::unique_ptr<storage::JobFiles> files_;
  std::string folder_;  ///< relative to the staging folder
  std::string checkpoints_;
};

}  // namespace tony::client
