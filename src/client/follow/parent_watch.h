// Watches the process that started this one.
#pragma once

#include <sys/types.h>

#include <optional>

#include "os/files/unique_fd.h"
#include "os/processes/process_handle.h"

namespace tony::client {

/// Not thread safe.
class ParentWatch {
 public:
  /// Watches the parent as it is now: one that has ended before is never seen.
  ParentWatch();
  /// Watches the process `pid`, which has ended already if it is not the parent: its number may be
  /// another process's by now, the parent's own cannot be.
  explicit ParentWatch(pid_t pid);

  /// Readable once the parent has ended; -1: there is no parent to watch (it is init, or in another
  /// namespace).
  int fd() const { return parent_ ? parent_->pidfd() : gone_.get(); }

 private:
  std::optional<os::ProcessHandle> parent_;
  os::UniqueFd gone_;  ///< a readable descriptor in place of a parent that has ended
};

}  // namespace tony::client
