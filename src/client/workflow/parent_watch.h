// Watches the process that started this one.
#pragma once

#include <optional>

#include "os/processes/process_handle.h"

namespace tony::client {

/// To be made at the program's start: a parent that ends before that is never seen. Not thread
/// safe.
class ParentWatch {
 public:
  ParentWatch();
  /// Readable once the parent has ended; -1: there is no parent to watch (it is init, or in another
  /// namespace).
  int fd() const { return parent_ ? parent_->pidfd() : -1; }

 private:
  std::optional<os::ProcessHandle> parent_;
};

}  // namespace tony::client
