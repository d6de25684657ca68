// Launches a job on this machine: its checkpoint folder, its images, its own folder, and its
// ApplicationMaster.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/environment.h"
#include "client/cli/options.h"
#include "client/follow/local_master_source.h"
#include "client/follow/master_process.h"
#include "client/jobs/history_retention.h"
#include "core/record/verdict.h"
#include "jobfile/job/job_builder.h"
#include "jobfile/xml/problem.h"
#include "os/files/unique_fd.h"
#include "storage/job_folder.h"

namespace tony::client {

/// How a job is launched beside what its configuration says. Plain data.
struct LocalLaunch {
  bool detached = false;      ///< the job outlives this process
  bool leased = false;        ///< though detached, it needs an owner who follows it
  std::vector<int> lock_fds;  ///< see MasterProcess::Options; the checkpoint folder's is added
  int launcher_fd = -1;       ///< see MasterProcess::Options
  /// Called with the job's id before its folder is made; an error ends the launch. May be null.
  std::function<absl::Status(const std::string& job_id)> on_id = nullptr;
  /// Asked when everything is staged: an error ends the launch. May be null.
  std::function<absl::Status()> go_on = nullptr;
};

/// A job whose ApplicationMaster runs.
struct LaunchedJob {
  std::string id;
  storage::JobFolder folder{""};
  os::UniqueFd checkpoints;  ///< the lock of the checkpoint folder; not valid: there is none
  os::UniqueFd guard;        ///< the lock on the folder's am_guard()
  std::vector<os::UniqueFd> page_sockets;  ///< two; none: there are no descriptors or ports
  LocalMasterSource::Options limits;
  MasterProcess master;
  std::unique_ptr<HistorySweep> sweep;  ///< runs beside the job until this is destroyed
};

/// A job that could not be launched. Plain data.
struct FailedLaunch {
  absl::Status why;
  int exit_code = 0;
  std::optional<jobfile::Problem> problem = {};  ///< of the job's configuration, if that is why
  bool told = false;                             ///< the user has been told why
};

/// Blocks until the ApplicationMaster has an address. If it fails, nothing is left but the log of
/// an ApplicationMaster that did not start; `failed` says why, and the pointer is null.
std::unique_ptr<LaunchedJob> LaunchLocalJob(const SubmitOptions& options,
                                            const Environment& environment,
                                            const jobfile::LoadedJob& job,
                                            const LocalLaunch& launch, FailedLaunch& failed);

/// Cleans up after a local job that was followed to `verdict`, and returns the exit status.
int EndLocalJob(const absl::StatusOr<core::Verdict>& verdict, const storage::JobFolder& folder);

}  // namespace tony::client
