// Decides in which order all ranks work on their tensors.
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
/// 1. Ranks submit tensors by name, in any order. One that all ranks have submitted is ready.
/// 2. Their requests are compared. If they fit, and the name has come before, the tensor gets a
///    number, by which ranks submit it from then on. A rank whose tensor has changed submits a
///    request again. Names that come once, as those that a framework invents, get none.
/// 3. Ready tensors are fused, in the order in which they became ready, while they fit into the
///    fusion buffer; those of another kind in between are skipped and come next. A group is ready
///    when all of it is, and what of it is of one kind is never split. It fails as a whole, at the
///    latest when all ranks have submitted as many of it as they say that there are.
/// 4. A joined rank counts as ready for every allreduce of all ranks.
///
/// There is no cycle: whoever calls Decide() after an operation finds all that became ready
/// meanwhile in one decision. Not thread safe.
class Coordinator {
 public:
  struct Limits {
    size_t fusion_bytes = size_t{128} << 20;  ///< more only of one tensor, or group, alone
    size_t numbers = 16384;                   ///< tensors that get one
    /// Of SetCoordinators: for what becomes ready later and is fused with what is ready.
    std::chrono::microseconds window{0};
  };

  /// `watch`: who else is told; outlives this.
  Coordinator(int ranks, Limits limits, SubmissionWatch* watch = nullptr);
  /// Of a process set: `members` are ranks of the job, in ascending order, by which it knows them.
  Coordinator(SetId set, std::vector<int> members, Limits limits, SubmissionWatch* watch = nullptr);

  /// Not empty: the rank does not do what ranks do, so it has to end. A number that nobody has
  /// given out, a tensor that is there already or larger than any memory, a second join, a rank
  /// outside the set.
  std::string Submit(int rank, const Submission& submission);
  /// What is ready by now.
  std::vector<Decision> Decide();

  bool has_ready() const { return !ready_.empty(); }
  /// Whether what becomes ready later might be fused with all that is ready.
  bool MayGrow() const;
  /// From the next decision on.
  void SetFusionBytes(size_t bytes) { limits_.fusion_bytes = bytes; }

  /// What waits is waited for no longer: the set goes.
  void GiveUp();

  const std::vector<int>& members() const { return members_; }

 private:
  struct Tensor {
    TensorId id = 0;
    std::vector<Request> requests;  ///< of each rank, as it was submitted last
    std::vector<bool> submitted;    ///< this time, by each rank
    int count = 0;                  ///< of those that are true
    bool agreed = false;            ///< all requests have been compared, and fit
  };
  /// What is not split: a tensor, or a group's of one kind.
  struct Unit {
    Decision decision;
    size_t bytes = 0;
  };

  /// Of which some ranks have submitted some.
  struct Group {
    std::vector<uint32_t> sizes;     ///< as each rank says; 0: it has said nothing yet
    std::vector<uint32_t> counts;    ///< of each rank, submitted
    std::vector<std::string> names;  ///< that have neither failed nor been decided
    std::string error;               ///< of one of them: all others fail with it
  };

  /// Where a rank is among the members; as many as there are: nowhere.
  size_t PlaceOf(int64_t rank) const;
  std::string RankText(size_t place) const { return "rank " + std::to_string(members_[place]); }
  std::string Take(size_t place, const std::string& name, const Request* request);
  std::string TakeIntoGroup(size_t place, const Request& request);
  void TakeJoin(size_t place);
  bool IsReady(const Tensor& tensor) const;
  void OnReady(const std::string& name);
  /// Nobody waits for the others' part of it any more.
  void EndWait(const std::string& name);
  /// Whether all ranks have submitted all that they have of it.
  bool IsComplete(const Group& group) const;
  /// What can be said of it by now.
  void Settle(const std::string& group);
  /// Empty, or who lacks one of its tensors.
  std::string Gap(const std::string& name, const Group& group) const;
  /// Empty, or why one of its tensors that still waited, and is ready, cannot be done.
  std::string AgreeOnWaiting(const Group& group);
  std::string Agree(Tensor& tensor) const;
  void PushFailed(const std::string& name, const std::string& error);
  /// Tensors that stay together, as far as one vector can hold them.
  void PushReady(const std::vector<std::string>& names);
  static void Join(Unit& all, Unit& one);
  std::vector<const Request*> RequestsOf(const Tensor& tensor) const;
  /// Its number, if it gets one.
  TensorId Number(const std::string& name, Tensor& tensor);
  /// After its decision: it may come again.
  void Reset(const std::string& name);
  Decision Fuse();

  const SetId set_;
  const std::vector<int> members_;
  const int ranks_;
  Limits limits_;
  SubmissionWatch* const watch_;
  std::unordered_map<std::string, Tensor> tensors_;  ///< submitted, or with a number
  std::vector<std::string> names_;                   ///< by number, from 1
  std::unordered_set<std::string> seen_;             ///< agreed on once
  std::deque<std::string> seen_order_;
  std::set<std::string> waiting_;
  std::map<std::string, Group> groups_;
  std::deque<Unit> ready_;
  std::vector<bool> joined_;
  int joined_count_ = 0;
};

}  // namespace tony::collective
