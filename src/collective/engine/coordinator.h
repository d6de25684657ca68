// The coordinator at rank 0: decides in which order the ranks of one process set execute the
// operations on their tensors.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "collective/request/request.h"
#include "collective/watch/submission_watch.h"

namespace tony::collective {

/// Computation only, for the rank that decides:
///
/// 1. Ranks submit tensors by name, in any order. A tensor is ready when all ranks have submitted
///    it.
/// 2. The coordinator compares the ranks' requests for a tensor. If they fit, and the name has come
///    before, the tensor gets a number. From then on ranks submit the number instead of the
///    request, until their request changes. Names that come only once, as frameworks invent them,
///    get no number.
/// 3. Ready tensors are fused in the order in which they became ready, while they fit into the
///    fusion buffer. Tensors of another kind in between are skipped and come next. A group is ready
///    when all of its tensors are; its tensors of one kind are never split. A group fails as a
///    whole, at the latest when each rank has submitted as many tensors of it as the rank has
///    announced.
/// 4. A joined rank counts as ready for every allreduce of the set of all ranks.
///
/// There is no cycle: a call of Decide() after an operation puts everything that became ready
/// meanwhile into one decision. Not thread safe.
class Coordinator {
 public:
  struct Limits {
    /// Most bytes of a decision, unless one tensor or group alone has more.
    size_t fusion_bytes = size_t{128} << 20;
    size_t numbers = 16384;  ///< most tensors that get a number
    /// For SetCoordinators: how long ready tensors wait for more to be fused with.
    std::chrono::microseconds window{0};
  };

  /// `watch`: is told what reaches the coordinator; null: nobody is. It must outlive the
  /// coordinator.
  Coordinator(int ranks, Limits limits, SubmissionWatch* watch = nullptr);
  /// The coordinator of a process set. `members`: the set's ranks, as ranks of the job, in
  /// ascending order; the coordinator's calls name ranks the same way.
  Coordinator(SetId set, std::vector<int> members, Limits limits, SubmissionWatch* watch = nullptr);

  /// Takes a rank's submission. Returns empty, or a sentence about a violation of the protocol,
  /// after which everything has to end: a number that was never given out, a tensor that the rank
  /// has submitted already or that is larger than any memory, a second join, a rank outside the
  /// set.
  std::string Submit(int rank, const Submission& submission);
  /// Takes and returns the decisions about all tensors that are ready.
  std::vector<Decision> Decide();

  bool has_ready() const { return !ready_.empty(); }
  /// Whether tensors that become ready later might be fused with all that are ready.
  bool MayGrow() const;
  /// Takes effect from the next decision on.
  void SetFusionBytes(size_t bytes) { limits_.fusion_bytes = bytes; }

  /// Ends the wait for all tensors that are not ready: the set is removed.
  void GiveUp();

  const std::vector<int>& members() const { return members_; }

 private:
  struct Tensor {
    TensorId id = 0;
    std::vector<Request> requests;  ///< by rank: its last request
    /// By rank: whether it has submitted the tensor since its last decision.
    std::vector<bool> submitted;
    int count = 0;        ///< ranks whose `submitted` is true
    bool agreed = false;  ///< all ranks' requests have been compared, and fit
  };
  /// A unit that is never split: one tensor, or a group's tensors of one kind.
  struct Unit {
    Decision decision;
    size_t bytes = 0;
  };

  /// A group of which some ranks have submitted some tensors.
  struct Group {
    /// By rank: the group's size as the rank says; 0: it has said nothing yet.
    std::vector<uint32_t> sizes;
    std::vector<uint32_t> counts;    ///< by rank: how many tensors it has submitted
    std::vector<std::string> names;  ///< tensors that have neither failed nor been decided
    std::string error;               ///< why one of its tensors failed: all others fail with it
  };

  /// A rank's index in `members_`; members_.size(): it is not a member.
  size_t IndexOf(int64_t rank) const;
  std::string RankText(size_t place) const { return "rank " + std::to_string(members_[place]); }
  std::string Take(size_t place, const std::string& name, const Request* request);
  std::string TakeIntoGroup(size_t place, const Request& request);
  void TakeJoin(size_t place);
  bool IsReady(const Tensor& tensor) const;
  void OnReady(const std::string& name);
  /// Marks a tensor as no longer waiting for other ranks.
  void EndWait(const std::string& name);
  /// Whether each rank has submitted all of its tensors of the group, or has joined.
  bool IsComplete(const Group& group) const;
  /// Decides as much about a group as is known by now: pushes it when it is ready, fails its
  /// tensors when it has an error.
  void Settle(const std::string& group);
  /// Fails the tensors of a group that has an error, and with them every other group that has one
  /// of them. `complete`: IsComplete(); otherwise tensors that some ranks lack fail later.
  void FailGroup(const std::string& name, Group& group, bool complete);
  /// Empty, or a sentence that names a tensor of a complete group and a rank that lacks it.
  std::string Gap(const std::string& name, const Group& group) const;
  /// Empty, or why the ranks disagree on one of the group's tensors that OnReady() has not seen.
  std::string AgreeOnWaiting(const Group& group);
  std::string Agree(Tensor& tensor) const;
  void PushFailed(const std::string& name, const std::string& error);
  /// Makes units of tensors that stay together, one for each kind, as far as one vector can hold
  /// them.
  void PushReady(const std::vector<std::string>& names);
  static void Join(Unit& all, Unit& one);
  std::vector<const Request*> RequestsOf(const Tensor& tensor) const;
  /// The tensor's number, newly given if it is due one; 0: it has none.
  TensorId Number(const std::string& name, Tensor& tensor);
  /// Clears a tensor after its decision: ranks may submit the name again.
  void Reset(const std::string& name);
  Decision Fuse();

  const SetId set_;
  const std::vector<int> members_;
  const int ranks_;
  Limits limits_;
  SubmissionWatch* const watch_;
  std::unordered_map<std::string, Tensor> tensors_;  ///< submitted, or with a number
  std::vector<std::string> names_;                   ///< by number - 1
  /// Names agreed on once, which get a number the next time.
  std::unordered_set<std::string> seen_;
  std::deque<std::string> seen_order_;
  std::set<std::string> waiting_;
  std::map<std::string, Group> groups_;
  std::deque<Unit> ready_;
  std::vector<bool> joined_;
  int joined_count_ = 0;
};

}  // namespace tony::collective
