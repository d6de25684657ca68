// Ties this process to another one, in whose stead it uses the machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/event_loop.h"
#include "os/processes/process_handle.h"

namespace tony::executor {

/// Watches a process that is no child of this one. Not thread safe: owned by the event loop.
class Tie {
 public:
  /// `start_ticks`: when the process was started (os::ProcessStart()), since the kernel reuses
  /// numbers. `on_end` is called once, on the loop. NotFound – it has ended. The codes of
  /// os::ProcessHandle::Open().
  static absl::StatusOr<std::unique_ptr<Tie>> To(EventLoop& loop, pid_t pid, int64_t start_ticks,
                                                 std::function<void()> on_end);

 private:
  explicit Tie(os::ProcessHandle process) : process_(std::move(process)) {}

  const os::ProcessHandle process_;
  std::unique_ptr<EventLoop::Handle> watch_;  ///< declared after `process_`, which it watches
};

}  // namespace tony::executor
