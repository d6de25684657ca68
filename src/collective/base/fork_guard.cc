// A list for pthread_atfork(3), which cannot be given arguments.
#include "collective/base/fork_guard.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace tony::collective {
namespace {

struct Guarded {
  std::mutex mutex;
  std::vector<int> descriptors;

  /// Lives as long as the process, since any thread may fork at its end.
  static Guarded& Get() {
    static Guarded& guarded = *new Guarded;
    static const int registered =
        pthread_atfork([] { Get().mutex.lock(); }, [] { Get().mutex.unlock(); }, CloseInChild);
    static_cast<void>(registered);
    return guarded;
  }
  static void CloseInChild() {
    for (const int descriptor : Get().descriptors) close(descriptor);
    Get().descriptors.clear();
    Get().mutex.unlock();
  }
};

}  // namespace

ForkGuard::ForkGuard(int descriptor) : descriptor_(descriptor) {
  Guarded& guarded = Guarded::Get();
  const std::lock_guard lock(guarded.mutex);
  guarded.descriptors.push_back(descriptor_);
}

ForkGuard::ForkGuard(ForkGuard&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

ForkGuard::~ForkGuard() {
  if (descriptor_ < 0) return;
  Guarded& guarded = Guarded::Get();
  const std::lock_guard lock(guarded.mutex);
  std::erase(guarded.descriptors, descriptor_);
}

}  // namespace tony::collective
