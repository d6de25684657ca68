// Finds the executors that an earlier ApplicationMaster of this job has started.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/ports/cluster_backend.h"
#include "os/processes/process_handle.h"

namespace tony::backend {

/// A running executor that is not a child of this process; it is watched through a pidfd.
struct FoundExecutor {
  os::ProcessHandle process;
  core::ExecutorProcess identity;
};

/// The identity (pid and start time) of the process `pid` now; nullopt if that process is gone.
std::optional<core::ExecutorProcess> IdentityOf(pid_t pid);

/// Identifies a container's executor without being fooled by another process. Any user of the
/// machine can start a process with an executor's command line, and the kernel reuses pids. A
/// process is therefore taken for a container's executor only if it runs as this user and one of
/// these holds:
/// 1. Its pid and start time are those that the earlier ApplicationMaster noted. They denote
///    exactly one process, whatever file it executes after an upgrade.
/// 2. Nothing was noted, because the earlier ApplicationMaster was lost between the start and
///    the note (or its version noted nothing), and the process executes tony-executor with the
///    container's id among its arguments.
///
/// All checks are made after the pidfd is open, because from then on the pid cannot pass to another
/// process. Not thread safe.
class ExecutorFinder {
 public:
  /// `executor`: path of tony-executor. `id_flag` ("--container-id="): the flag that precedes a
  /// container's id on an executor's command line.
  ExecutorFinder(const std::string& executor, std::string id_flag);

  /// NotFound – the executor has ended. Otherwise the codes of ProcessHandle::Open().
  absl::StatusOr<FoundExecutor> Find(const core::Container& container);

 private:
  /// The pid of the executor that has `container_id` among its arguments; 0: there is none.
  pid_t FindByArgument(const std::string& container_id);
  bool HasArgument(pid_t pid, const std::string& container_id) const;

  std::string program_;  ///< the file that the kernel executes: the loader in a runtime bundle
  std::string id_flag_;
  /// Pid by container id; /proc is read at most once.
  std::optional<std::map<std::string, pid_t>> by_argument_;
};

}  // namespace tony::backend
