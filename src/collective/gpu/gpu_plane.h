// Operations on GPUs of the ranks of a group: decided like others, done without waiting for them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/base/status.h"
#include "collective/gpu/gpu_operations.h"
#include "collective/gpu/nccl_group.h"
#include "collective/gpu/options.h"
#include "collective/gpu/rank_gpu.h"
#include "collective/group/group.h"
#include "collective/request/request.h"
#include "collective/request/tensor.h"

namespace tony::collective {

/// 1. The ranks' GPUs meet (gpu_meeting.h) at the first decision about tensors of GPUs: a job
///    without any opens no library.
/// 2. The data thread puts a decision's operation on the GPU's stream, behind the framework's
///    events, tells who has submitted that it is there, and goes on with the next decision.
/// 3. A thread of the plane's looks after what the GPU has: when it is done, or cannot be, it tells
///    who has submitted.
/// While the GPU has kMostIssued operations the data thread waits, so that what becomes ready
/// meanwhile is fused. After an error of the GPU, NCCL or a rank nothing is done any more.
class GpuPlane {
 public:
  struct Setup {
    std::shared_ptr<RankGpu> gpu;  ///< null: there are no operations on GPUs
    NcclGroup::Options group;
    std::vector<int> names;  ///< of the ranks, for people; empty: 0, 1, …
    /// Nothing more can be done, here or elsewhere. From the data thread, or the plane's.
    std::function<void(const Status&)> on_failure;
    /// What users should see once, of the first rank: which GPUs and what they lack.
    std::function<void(const std::string&)> say;
    std::string sys = "/sys";  ///< see LookAtTransport()
  };
  static constexpr size_t kMostIssued = 2;

  GpuPlane(Group& host, Setup setup);
  /// Ends what it has, and gives the other ranks a few seconds to part.
  ~GpuPlane();
  GpuPlane(const GpuPlane&) = delete;
  GpuPlane& operator=(const GpuPlane&) = delete;

  // Of the data thread:

  /// `tensors`: those of this rank, as in the decision; none where it has joined. Tells each what
  /// comes of it, sooner or later. InvalidArgument, FailedPrecondition: GPUs cannot do this, or a
  /// rank has none; all ranks are told the same, and the rest goes on. Others end everything:
  /// `on_failure`. `patience`: from when it is with the GPU, which includes what the framework's
  /// events have to wait for.
  void Run(const Decision& decision, std::vector<Tensor> tensors,
           std::chrono::milliseconds patience);
  /// Until all is done and told.
  void Finish();

  /// A rank is gone, or nothing can go on: what is with the GPU is given up from `when` on. Thread
  /// safe.
  void Fail(const std::string& why, Deadline when);

 private:
  /// What the GPU has been given.
  struct Issued {
    std::string what;
    std::vector<Tensor> tensors;
    GpuOperations::Results results;
    std::shared_ptr<Event> done;
    Deadline begin;
    Deadline deadline;
  };

  Status Begin(const Decision& decision, Issued& issued, std::chrono::milliseconds patience);
  /// Ok: the ranks' GPUs have met.
  Status Meet(Deadline deadline);
  /// Where Fail() reaches it.
  void Publish(std::shared_ptr<NcclGroup> group);
  /// Under the mutex, until the GPU has few enough operations.
  void WaitForRoom(std::unique_lock<std::mutex>& lock);
  /// The first failure is remembered, and told.
  void OnFailure(const Status& status);
  void Watch();
  /// One look at the first of what is issued, under the mutex. What has ended is moved to `ended`.
  Status LookAtFirst(std::vector<Issued>& ended);
  static void Tell(Issued& issued, const Status& status);

  Group& host_;
  Setup setup_;

  std::mutex fail_mutex_;              ///< never held while something is waited for
  std::shared_ptr<NcclGroup> target_;  ///< of Fail()
  bool failed_ = false;
  std::string failed_why_;
  Deadline failed_when_;

  std::mutex mutex_;  ///< of the group, which takes one thread at a time
  std::condition_variable changed_;
  std::shared_ptr<NcclGroup> group_;  ///< null: they have not met
  std::unique_ptr<GpuOperations> operations_;
  std::string limitation_;
  std::deque<Issued> issued_;
  bool telling_ = false;  ///< of what has ended
  /// Is freed when the GPU has nothing of ours: to free memory waits for the GPU, and while that
  /// waits for a rank that has ended nobody would notice.
  std::vector<std::shared_ptr<std::byte[]>> garbage_;
  Status failure_;
  bool stopping_ = false;
  std::thread watch_;
};

}  // namespace tony::collective
