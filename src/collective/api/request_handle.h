// The state of one submitted operation, behind its handle, until its submitter has read the result.
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

/// A request handle. Once the operation is done, nothing changes any more, so the result may be
/// read without a lock. Thread safe.
class RequestHandle {
 public:
  /// Reports, for tensors on GPUs and before Finish(), that the GPU has the operation. The output
  /// can be read when `done` has fired.
  void Issue(std::shared_ptr<Event> done, const Engine::Output& output);
  /// Reports that the operation is done; called once.
  void Finish(const Status& status, Engine::Output output, int last_joined);

  bool done() const { return done_.load(std::memory_order_acquire); }
  /// Waits until the operation is done. False – it is not done at the deadline. The wait polls for
  /// a moment and lets other threads run, since a short operation takes no longer than waking a
  /// thread; then it sleeps.
  bool Wait(Deadline deadline) const;
  /// Waits until the GPU has the operation or it is done. False – neither is so at the deadline.
  bool WaitForGpu(Deadline deadline) const;
  bool issued() const { return issued_.load(std::memory_order_acquire); }
  /// After issued(): the event that Issue() got. Null: the GPU never had the operation.
  const std::shared_ptr<Event>& gpu_done() const { return gpu_done_; }

  // Valid when done; the output also when issued:
  const Status& status() const { return status_; }
  Engine::Output& output() { return output_; }
  /// The rank that joined last. Below 0: the operation is no join, or has failed.
  int last_joined() const { return last_joined_; }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::atomic<bool> done_ = false;
  std::atomic<bool> issued_ = false;  ///< the GPU has the operation, or it is done
  std::shared_ptr<Event> gpu_done_;
  Status status_;
  Engine::Output output_;
  int last_joined_ = -1;
};

}  // namespace tony::collective
