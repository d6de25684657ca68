// Starts the executors of one job as processes of this machine.
#pragma once

#include <sys/types.h>

#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "os/processes/fork_server.h"
#include "os/processes/subprocess.h"

namespace tony::backend {

/// Several executors are forked from one that has warmed up: that halves what a start costs, most
/// of which is the same in each. Where that does not work, and for a single one, each is started by
/// itself. Not thread safe.
class ExecutorStarter {
 public:
  /// Begins at once, so that the warming up goes on beside the caller's own preparations.
  /// `program` is tony-executor; `expected` is how many will be started, about.
  ExecutorStarter(const std::string& program, const std::string& job_id, int expected);

  /// As os::StartOwnProgram(); `request` has an environment.
  absl::StatusOr<os::Subprocess> Start(const os::SubprocessRequest& request);

  /// The caller's children that this has started and that are no executors.
  std::set<pid_t> Helpers() const;

 private:
  std::unique_ptr<os::ForkServer> server_;  ///< none, or no longer: each by itself
};

}  // namespace tony::backend
