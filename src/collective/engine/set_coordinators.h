// Rank 0's coordinators, one for each process set, and the single order of all their decisions.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/engine/coordinator.h"
#include "collective/request/request.h"

namespace tony::collective {

/// Computation only.
///
/// 1. All decisions come from here, one after the other. Ranks that belong to several sets execute
///    them in the same order, so no two ranks wait for each other.
/// 2. A set is added and removed by a decision of all ranks. Tensors of the set that were ready
///    before its removal are decided before it. Tensors that are submitted later are dropped; their
///    ranks learn of the removal from the same decision.
/// 3. Nothing is decided for a set while its first rank is busy, so that tensors which become ready
///    meanwhile are fused.
/// 4. With a window (`Limits::window`) ready tensors wait for more, counted from when the first of
///    them became ready, unless nothing can be fused with them or the fusion buffer is full.
/// Not thread safe.
class SetCoordinators {
 public:
  /// `watch`: as in Coordinator's constructor.
  SetCoordinators(int ranks, Coordinator::Limits limits, SubmissionWatch* watch = nullptr);

  /// As Coordinator::Submit(). A submission to a set that was removed is dropped.
  std::string Submit(int rank, const Submission& submission);
  /// A decision, and the ranks that it is sent to.
  struct Addressed {
    Decision decision;
    std::shared_ptr<const std::vector<int>> members;
  };
  /// Takes and returns the decisions about all tensors that are ready and need not wait. `idle`:
  /// rank 0 has nothing to do. `now`: for windows.
  std::vector<Addressed> Decide(bool idle, Deadline now = {});
  /// The latest time for the next call of Decide(), since a window ends; none: no window is open.
  std::optional<Deadline> window_end() const { return window_end_; }
  /// Takes effect from the next decision on.
  void SetFusion(size_t bytes, std::chrono::microseconds window);
  /// The set's first rank, which is not rank 0, has executed all decisions of the set that it had.
  void OnIdle(SetId set);
  /// Forgets a set that could not be made.
  void Drop(SetId set) { sets_.erase(set); }

 private:
  struct Set {
    std::unique_ptr<Coordinator> coordinator;
    std::shared_ptr<const std::vector<int>> members;
    bool busy = false;  ///< its first rank has decisions to execute; unused if that is rank 0
    /// When the first ready tensor became ready; only with a window.
    std::optional<Deadline> ready_since;
  };

  Set Make(SetId id, std::vector<int> members) const;
  void Take(Set& set, std::vector<Addressed>& to);
  /// Whether the set's ready tensors wait for more; then window_end_ is set.
  bool IsInWindow(const Set& set, Deadline now);
  /// Adds or removes the set that `decision` adds or removes, and completes the decision. Decisions
  /// that have to come before it are appended to `before`. A decision with an error changes
  /// nothing.
  void Apply(Decision& decision, std::vector<Addressed>& before);

  Coordinator::Limits limits_;
  SubmissionWatch* const watch_;
  std::map<SetId, Set> sets_;
  SetId last_id_ = kAllRanks;
  std::optional<Deadline> window_end_;
};

}  // namespace tony::collective
