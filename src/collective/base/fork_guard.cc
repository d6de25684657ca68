// Keeps all guarded descriptors in one list of the process, since handlers of pthread_atfork(3) get
// no arguments. The fork takes the list's mutex, so the child never sees a half-changed list.
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

  /// The list is never destroyed, since any thread may fork while the process ends.
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
