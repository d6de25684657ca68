// One rank's end of an NCCL communicator, which never waits longer than it may.
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

/// NCCL's calls return at once, and are asked whether they are done; meanwhile its asynchronous
/// errors, failed ranks and the deadline are looked at. After any of these it is aborted: nothing
/// of it runs on the GPU any more, and all calls say what has happened. That NCCL has lost another
/// rank counts three seconds later only, so that the rank can be named.
///
///   (created) ── Connect ──▶ connected ── Close, destructor ──▶ closed
///       └──────── error, deadline, Fail ─────▶ aborted
///
/// Not thread safe, but for Fail().
class Communicator {
 public:
  struct Place {
    std::vector<int> ranks;  ///< the members, as people know them
    int position = 0;        ///< of this one, among them
    std::string unique_id;   ///< made by one of them: NcclLibrary::CreateUniqueId
  };
  /// Queries something that the GPU or NCCL does: whether it is done.
  using Query = std::function<Result<bool>()>;

  Communicator(std::shared_ptr<const NcclLibrary> nccl, std::shared_ptr<Device> device,
               Place place);
  /// Closes it, if nobody did, and gives others a few seconds to come to that.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Until all ranks have come.
  /// InvalidArgument: the place cannot be. DeadlineExceeded: a rank has not come. Aborted: NCCL
  /// cannot, or a rank has failed.
  Status Connect(Deadline deadline);
  /// Makes the calls as one operation: all of them are on their streams afterwards.
  /// `what`: "the allreduce of 3 float32". Codes as of Until().
  Status Issue(const std::string& what, const std::function<NcclResult(NcclComm)>& calls,
               Deadline deadline);
  /// Until `query` says yes.
  /// DeadlineExceeded, Aborted: see Group::AllReduce. Internal: the GPU has failed.
  Status Until(const std::string& what, const Query& query, Deadline deadline);
  /// One look, by who does not wait: what `query` says, or an error as of Until(). `begin`: since
  /// when it is looked at.
  Result<bool> Look(const std::string& what, const Query& query, Deadline deadline, Deadline begin);
  /// When nothing runs any more; as all others do.
  void Close(Deadline deadline);
  /// The rank at `position` has ended. The first one counts.
  void Fail(int position);
  /// Nothing can be done any more from `when` on: `why`, as "rank 3 has left". Of several the
  /// earliest counts.
  void Fail(const std::string& why, Deadline when);

  /// Ok, or what has happened to it.
  const Status& failure() const { return failure_; }
  int position() const { return place_.position; }
  int ranks() const { return static_cast<int>(place_.ranks.size()); }

 private:
  /// What NCCL says of a call.
  Status Took(const std::string& what, NcclResult result, Deadline deadline);
  Status CheckAsync(const std::string& what);
  Status CheckRanks(const std::string& what);
  Status CheckDeadline(const std::string& what, Deadline deadline, Deadline begin);
  /// Remembers and returns `why`.
  Status Abort(Status why);

  const std::shared_ptr<const NcclLibrary> nccl_;
  const std::shared_ptr<Device> device_;
  const Place place_;
  NcclComm comm_ = nullptr;
  Status failure_;
  std::optional<Deadline> lost_since_;  ///< NCCL's connections, before anybody has said why
  std::atomic<bool> failing_{false};
  std::mutex failing_mutex_;
  std::string failing_why_;
  Deadline failing_when_;
};

}  // namespace tony::collective
