// One operation that was asked of this process, until whoever asked has seen what came of it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "collective/base/deadline.h"
#include "collective/base/status.h"
#include "collective/engine/engine.h"
#include "collective/gpu/stream.h"

namespace tony::collective {

/// Thread safe. What is done stays as it is, so that it may be looked at without a lock.
class Ticket {
 public:
  /// Of tensors of GPUs, before Finish(): the GPU has the operation, whose output can be read when
  /// `done` has fired.
  void Issue(std::shared_ptr<Event> done, const Engine::Output& output);
  /// Once.
  void Finish(const Status& status, Engine::Output output, int last_joined);

  bool done() const { return done_.load(std::memory_order_acquire); }
  /// Lets other threads run for a while, as short operations do not take longer than it takes to be
  /// woken; then sleeps. False: not done until then.
  bool Wait(Deadline deadline) const;
  /// Until the GPU has the operation, or it is done. False: neither until then.
  bool WaitForGpu(Deadline deadline) const;
  bool issued() const { return issued_.load(std::memory_order_acquire); }
  /// Of one that is issued; null: it has never been with a GPU.
  const std::shared_ptr<Event>& gpu_done() const { return gpu_done_; }

  // Of one that is done; the output also of one that is issued:
  const Status& status() const { return status_; }
  Engine::Output& output() { return output_; }
  /// Below 0: it was no join, or did not succeed.
  int last_joined() const { return last_joined_; }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::atomic<bool> done_ = false;
  std::atomic<bool> issued_ = false;  ///< to a GPU, or done
  std::shared_ptr<Event> gpu_done_;
  Status status_;
  Engine::Output output_;
  int last_joined_ = -1;
};

}  // namespace tony::collective
