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

/// An executor that is watched by a descriptor, although it is nobody's child here.
struct FoundExecutor {
  os::ProcessHandle process;
  core::ExecutorProcess identity;
};

/// What identifies `pid` now; nothing when it is gone.
std::optional<core::ExecutorProcess> IdentityOf(pid_t pid);

/// Every user of the machine can start a process with the command line of an executor, and numbers
/// of processes are given again. So a process is taken for a container's executor only
/// 1. by its number and its start time, where the earlier ApplicationMaster has noted them: that is
///    one process, whatever file it executes since an upgrade;
/// 2. otherwise, where that one was lost between the start and the note (or was of a version that
///    noted nothing), if it executes tony-executor and has the container's id among its arguments;
/// and in both ways only if it runs as this user. All of that is asked when its descriptor is open,
/// from when on the number cannot pass to another process. Not thread safe.
class ExecutorFinder {
 public:
  /// `executor` is the path of tony-executor, and `id_flag` ("--container-id=") what stands before
  /// a container's id on its command line.
  ExecutorFinder(const std::string& executor, std::string id_flag);

  /// NotFound – it has ended; codes of ProcessHandle::Open().
  absl::StatusOr<FoundExecutor> Find(const core::Container& container);

 private:
  /// 0: none.
  pid_t FindByArgument(const std::string& container_id);
  bool HasArgument(pid_t pid, const std::string& container_id) const;

  std::string program_;  ///< what the kernel executes: the loader in a runtime bundle
  std::string id_flag_;
  std::optional<std::map<std::string, pid_t>> by_argument_;  ///< /proc is read once, if at all
};

}  // namespace tony::backend
