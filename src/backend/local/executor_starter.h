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

/// Forks executors from one warmed-up fork server, which halves the cost of a start: most of that
/// cost is the same in every executor. Without a fork server, and for a single executor, each
/// executor is started by itself. Not thread safe.
class ExecutorStarter {
 public:
  /// Starts the fork server at once, so that it warms up while the caller makes its own
  /// preparations. `program`: path of tony-executor. `expected`: approximate number of executors to
  /// be started.
  ExecutorStarter(const std::string& program, const std::string& job_id, int expected);

  /// Like os::StartOwnProgram(), with the codes of that; `request` must have an environment.
  absl::StatusOr<os::Subprocess> Start(const os::SubprocessRequest& request);

  /// The caller's children that this object has started and that are not executors.
  std::set<pid_t> Helpers() const;

 private:
  /// Null: no server was started, or it was lost; each executor then starts by itself.
  std::unique_ptr<os::ForkServer> server_;
};

}  // namespace tony::backend
