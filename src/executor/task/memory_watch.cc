// Sampling with an adaptive interval: the nearer to the limit, the sooner the next look.
#include "executor/task/memory_watch.h"

#include <algorithm>
#include <utility>

#include "os/machine/resident_memory.h"

namespace tony::executor {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kBytesPerMilli = (int64_t{4} << 30) / 1000;
constexpr milliseconds kShortest{100};
constexpr milliseconds kLongest{1000};

}  // namespace

MemoryWatch::MemoryWatch(EventLoop& loop, int64_t limit_bytes,
                         std::function<std::vector<pid_t>()> processes,
                         std::function<void(int64_t)> on_exceeded)
    : loop_(loop),
      limit_bytes_(limit_bytes),
      processes_(std::move(processes)),
      on_exceeded_(std::move(on_exceeded)) {
  timer_ = loop_.After(kShortest, [this] { Check(); });
}

void MemoryWatch::Check() {
  const std::vector<pid_t> processes = processes_();
  int64_t bytes = os::ResidentBytes(processes);
  if (bytes > limit_bytes_) bytes = os::ProportionalBytes(processes);
  if (bytes > limit_bytes_) return on_exceeded_(bytes);
  const milliseconds until_full((limit_bytes_ - bytes) / kBytesPerMilli);
  timer_ = loop_.After(std::clamp(until_full, kShortest, kLongest), [this] { Check(); });
}

}  // namespace tony::executor
