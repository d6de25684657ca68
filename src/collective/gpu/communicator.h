// One rank's end of an NCCL communicator; no call waits past its deadline.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/base/status.h"
#include "collective/gpu/device.h"
#include "collective/gpu/nccl_library.h"

namespace tony::collective {

/// NCCL's calls return at once, and the communicator polls whether they are done. While it polls,
/// it also checks NCCL's asynchronous errors, failed ranks and the deadline. After any of these, it
/// aborts NCCL's communicator: nothing of it runs on the GPU any more, and every later call returns
/// the reason. A connection to another rank that NCCL has lost counts as an error only three
/// seconds later, so that the message can name the rank that has ended.
///
///   (created) ── Connect ──▶ connected ── Close, destructor ──▶ closed
///       └──────── error, deadline, Fail ─────▶ aborted
///
/// Not thread safe, but for Fail().
class Communicator {
 public:
  struct Membership {
    std::vector<int> ranks;  ///< the members, by the numbers that messages give
    int position = 0;        ///< index of this rank in `ranks`
    std::string unique_id;   ///< from one member's NcclLibrary::CreateUniqueId()
  };
  /// Asks whether the GPU or NCCL has done something.
  using Query = std::function<Result<bool>()>;

  Communicator(std::shared_ptr<const NcclLibrary> nccl, std::shared_ptr<Device> device,
               Membership membership);
  /// Closes the communicator if Close() was not called. Waits a few seconds for the other ranks to
  /// close theirs.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Waits until all ranks have connected. InvalidArgument – `place` is impossible, or Connect()
  /// was called before. DeadlineExceeded – a rank has not connected in time. Aborted – NCCL cannot
  /// connect, or a rank has failed.
  Status Connect(Deadline deadline);
  /// Runs `calls` as one NCCL group: when it returns Ok, all of them are on their streams. `what`:
  /// names the operation in messages, like "the allreduce of 3 float32". The codes are those of
  /// Until().
  Status Issue(const std::string& what, const std::function<NcclResult(NcclComm)>& calls,
               Deadline deadline);
  /// Waits until `query` returns true. DeadlineExceeded, Aborted – see Group::AllReduce. Internal –
  /// the GPU has failed.
  Status Until(const std::string& what, const Query& query, Deadline deadline);
  /// Asks once and does not wait: returns what `query` says, or an error as from Until(). `begin`:
  /// when the operation began, for the message.
  Result<bool> Poll(const std::string& what, const Query& query, Deadline deadline, Deadline begin);
  /// Closes the communicator in order. All ranks call it, when none of their operations runs any
  /// more.
  void Close(Deadline deadline);
  /// Reports that the rank at `position` has ended. The first report counts.
  void Fail(int position);
  /// Makes every operation fail from `when` on, with the reason `why`, like "rank 3 has left". Of
  /// several calls the one with the earliest `when` counts.
  void Fail(const std::string& why, Deadline when);

  /// Ok, or why the communicator cannot be used any more.
  const Status& failure() const { return failure_; }
  int position() const { return membership_.position; }
  int ranks() const { return static_cast<int>(membership_.ranks.size()); }

 private:
  /// Handles the result of an NCCL call; waits for a call that is still in progress.
  Status Took(const std::string& what, NcclResult result, Deadline deadline);
  Status CheckAsync(const std::string& what);
  Status CheckRanks(const std::string& what);
  Status CheckDeadline(const std::string& what, Deadline deadline, Deadline begin);
  /// Aborts NCCL's communicator; keeps `why` as failure_ and returns it.
  Status Abort(Status why);

  const std::shared_ptr<const NcclLibrary> nccl_;
  const std::shared_ptr<Device> device_;
  const Membership membership_;
  NcclComm comm_ = nullptr;
  Status failure_;
  std::optional<Deadline> lost_since_;  ///< when NCCL first lost a connection; unset: it has not
  std::atomic<bool> failing_{false};
  std::mutex failing_mutex_;
  std::string failing_why_;
  Deadline failing_when_;
};

}  // namespace tony::collective
