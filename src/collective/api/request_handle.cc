// The flags are atomics that are stored last, with release: a reader that sees one may read the
// members behind it without the mutex. The mutex is for sleeping waiters only.
#include "collective/api/request_handle.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "collective/base/spin_wait.h"

namespace tony::collective {
namespace {

constexpr auto kYieldTime = std::chrono::microseconds(200);

}  // namespace

void RequestHandle::Issue(std::shared_ptr<Event> done, const Engine::Output& output) {
  {
    const std::lock_guard lock(mutex_);
    gpu_done_ = std::move(done);
    output_ = output;
    issued_.store(true, std::memory_order_release);
  }
  changed_.notify_all();
}

void RequestHandle::Finish(const Status& status, Engine::Output output, int last_joined) {
  {
    const std::lock_guard lock(mutex_);
    status_ = status;
    // A reader may already use the output that Issue() has published, so it is not replaced.
    if (!issued()) output_ = std::move(output);
    last_joined_ = last_joined;
    issued_.store(true, std::memory_order_release);
    done_.store(true, std::memory_order_release);
  }
  changed_.notify_all();
}

bool RequestHandle::WaitForGpu(Deadline deadline) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return issued(); });
}

bool RequestHandle::Wait(Deadline deadline) const {
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
      deadline - std::chrono::steady_clock::now());
  if (SpinFor(std::min(kYieldTime, left), [this] { return done(); })) return true;
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return done(); });
}

}  // namespace tony::collective
