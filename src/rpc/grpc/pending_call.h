// Coordinates a gRPC call with its owner, who may not be able to wait until gRPC has answered it.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "common/clock.h"

namespace tony::rpc {

/// State shared by an asynchronous call and its owner. The owner waits until gRPC has let go of the
/// call. If gRPC could start no thread (ulimit -u), it never calls back; then the wait ends after a
/// limit, the call is abandoned, and no callback reaches the owner any more. Thread safe.
class PendingCall {
 public:
  /// Runs `function`, unless the call was abandoned. `function` must not wait for the owner.
  template <typename Function>
  void Tell(Function function) {
    const std::lock_guard lock(mutex_);
    if (!abandoned_) function();
  }

  /// Tells that gRPC has let go of the call and will not use it any more.
  void SetDone() {
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }

  /// True: SetDone() was called. False: `patience` ran out and the call is abandoned; everything
  /// that gRPC may still use of it must then stay for as long as the process lives.
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
