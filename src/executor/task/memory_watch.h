// Watches the memory of a program where the kernel does not hold it to its limit.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "common/event_loop.h"

namespace tony::executor {

/// 1. The resident bytes of all processes are added up. That is cheap and never too little, but
///    counts shared pages, of forked data loaders say, several times.
/// 2. Only when this sum is over the limit, the proportional bytes decide, which are right and cost
///    more.
/// 3. The farther the program is from its limit the longer until the next look, by what a program
///    can fill at 4 GiB/s: from 1 s down to 100 ms.
/// Not thread safe: owned by the event loop.
class MemoryWatch {
 public:
  /// `processes` tells the program's processes; `on_exceeded` is called once, with the number of
  /// bytes that were seen.
  MemoryWatch(EventLoop& loop, int64_t limit_bytes, std::function<std::vector<pid_t>()> processes,
              std::function<void(int64_t)> on_exceeded);

 private:
  void Look();

  EventLoop& loop_;
  const int64_t limit_bytes_;
  const std::function<std::vector<pid_t>()> processes_;
  const std::function<void(int64_t)> on_exceeded_;
  std::unique_ptr<EventLoop::Handle> timer_;
};

}  // namespace tony::executor
