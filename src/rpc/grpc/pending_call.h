// A call that gRPC answers on threads of its own, and its owner, who may not outwait it.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "common/clock.h"

namespace tony::rpc {

/// What an answered call and its owner share: whoever wants to forget the call waits until gRPC has
/// let go of it. Where gRPC could start no thread (ulimit -u) nobody ever calls back; then the wait
/// ends, the call is abandoned, and nothing of it reaches the owner any more. Thread safe.
class PendingCall {
 public:
  /// Runs `function`, unless the call was abandoned. Not for one that waits for the owner.
  template <typename Function>
  void Tell(Function function) {
    const std::lock_guard lock(mutex_);
    if (!abandoned_) function();
  }

  /// gRPC has let go of the call, and does nothing with it after this.
  void SetDone() {
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }

  /// Returns when SetDone() was called, or false after `patience`: then the call is abandoned, and
  /// what gRPC may still use of it must stay for as long as the process lives.
  bool AwaitDone(Duration patience) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, patience, [this] { return done_; })) return true;
    abandoned_ = true;
    return false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  bool abandoned_ = false;
};

}  // namespace tony::rpc
