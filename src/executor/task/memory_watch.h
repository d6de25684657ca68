// Watches a program's memory by sampling, where the kernel does not enforce the limit.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "common/event_loop.h"

namespace tony::executor {

/// 1. The resident bytes of all processes are added up. The sum is cheap and never too low, but it
///    counts shared pages (of forked data loaders, for example) several times.
/// 2. Only if this sum is over the limit, the proportional bytes decide. They are exact but cost
///    more.
/// 3. The time until the next look is the time in which a program could reach its limit at 4 GiB/s,
///    between 100 ms and 1 s.
/// Not thread safe: owned by the event loop.
class MemoryWatch {
 public:
  /// `processes` returns the program's processes. `on_exceeded` is called once, with the number of
  /// bytes measured.
  MemoryWatch(EventLoop& loop, int64_t limit_bytes, std::function<std::vector<pid_t>()> processes,
              std::function<void(int64_t)> on_exceeded);

 private:
  void Check();

  EventLoop& loop_;
  const int64_t limit_bytes_;
  const std::function<std::vector<pid_t>()> processes_;
  const std::function<void(int64_t)> on_exceeded_;
  std::unique_ptr<EventLoop::Handle> timer_;
};

}  // namespace tony::executor
