// Executes decisions about tensors on GPUs: the data thread starts them and does not wait until
// they are done.
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

/// 1. The ranks' GPUs meet (gpu_meeting.h) at the first decision about tensors of GPUs, so a job
///    without such tensors opens no library.
/// 2. The data thread puts a decision's operation on the GPU's stream, behind the framework's
///    events. It tells the submitters that the GPU has the operation, and goes on with the next
///    decision.
/// 3. A thread of the plane polls the operations that the GPU has. When one is done, or has failed,
///    the thread tells its submitters.
/// While the GPU has kMostIssued operations the data thread waits, so that tensors that become
/// ready meanwhile are fused. After an error of the GPU, of NCCL or of a rank the plane does
/// nothing more.
class GpuPlane {
 public:
  struct Setup {
    std::shared_ptr<RankGpu> gpu;  ///< null: operations on GPUs are refused
    NcclGroup::Options group;
    std::vector<int> names;  ///< the ranks' numbers in messages; empty: 0, 1, …
    /// Called when no rank can go on. Called from the data thread or from the plane's thread.
    std::function<void(const Status&)> on_failure;
    /// Called once, on the first rank, with a sentence for users: which GPUs there are and what
    /// they lack.
    std::function<void(const std::string&)> say;
    std::string sys = "/sys";  ///< see DetectTransport()
  };
  static constexpr size_t kMostIssued = 2;

  GpuPlane(Group& host, Setup setup);
  /// Waits until the issued operations have ended, and gives the other ranks a few seconds to close
  /// their communicators.
  ~GpuPlane();
  GpuPlane(const GpuPlane&) = delete;
  GpuPlane& operator=(const GpuPlane&) = delete;

  // Called from the data thread only:

  /// Starts the operation of `decision`. `tensors`: this rank's tensors, in the decision's order;
  /// empty entries if it has joined. Each tensor's submitter gets its result or an error, sooner or
  /// later. InvalidArgument, FailedPrecondition – GPUs cannot do this, or a rank has none: all
  /// ranks are told the same, and later decisions go on. All other errors end the plane and call
  /// `on_failure`. `patience`: time limit, counted from when the GPU has the operation; it includes
  /// the time for which the framework's events are waited for.
  void Run(const Decision& decision, std::vector<Tensor> tensors,
           std::chrono::milliseconds patience);
  /// Waits until all operations are done and all submitters are told.
  void Finish();

  /// Reports that a rank is gone, or that the job cannot go on: operations that the GPU has are
  /// aborted from `when` on. Thread safe.
  void Fail(const std::string& why, Deadline when);

 private:
  /// An operation that the GPU has.
  struct Issued {
    std::string what;
    std::vector<Tensor> tensors;
    GpuOperations::Results results;
    std::shared_ptr<Event> done;
    Deadline begin;
    Deadline deadline;
  };

  Status Begin(const Decision& decision, Issued& issued, std::chrono::milliseconds patience);
  /// Waits for room, and checks that this rank can take part in the operation. Before the first
  /// operation it runs the meeting. FailedPrecondition, InvalidArgument – as for Run(). Aborted –
  /// the rank has given up one of the tensors. The other codes are those of Meet() and of the
  /// plane's failure.
  Status GetReady(const Decision& decision, const std::vector<Tensor>& tensors,
                  std::chrono::milliseconds patience);
  /// Runs the meeting. Ok – the ranks' GPUs have met.
  Status Meet(Deadline deadline);
  /// Makes `group` the one that Fail() aborts.
  void Publish(std::shared_ptr<NcclGroup> group);
  /// Waits until the GPU has fewer than kMostIssued operations. The caller holds the mutex.
  void WaitForRoom(std::unique_lock<std::mutex>& lock);
  /// Keeps the first failure and reports it to `on_failure`.
  void OnFailure(const Status& status);
  void Watch();
  /// Polls the first issued operation once; the caller holds the mutex. Moves operations that have
  /// ended to `ended`.
  Status PollFirst(std::vector<Issued>& ended);
  static void Tell(Issued& issued, const Status& status);
  /// Moves the operation's memory that nobody has taken to `garbage_`; the caller holds the mutex.
  void Keep(Issued& issued);

  Group& host_;
  Setup setup_;

  std::mutex fail_mutex_;              ///< never held during a wait
  std::shared_ptr<NcclGroup> target_;  ///< the group that Fail() aborts
  bool failed_ = false;
  std::string failed_why_;
  Deadline failed_when_;

  std::mutex mutex_;  ///< also serializes calls to the group, which is not thread safe
  std::condition_variable changed_;
  std::shared_ptr<NcclGroup> group_;  ///< null: the ranks' GPUs have not met
  std::unique_ptr<GpuOperations> operations_;
  std::string limitation_;
  std::deque<Issued> issued_;
  bool telling_ = false;  ///< an operation has ended and its submitters are being told
  /// Memory that is freed only when the GPU has no operation of ours. CUDA waits for the GPU before
  /// it frees memory; if the GPU waited for a rank that has ended, nobody would notice.
  std::vector<std::shared_ptr<std::byte[]>> garbage_;
  Status failure_;
  bool stopping_ = false;
  std::thread watch_;
};

}  // namespace tony::collective
