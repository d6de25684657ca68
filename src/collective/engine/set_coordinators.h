// Rank 0's coordinators, one for each process set, and the one order of all their decisions.
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
/// 1. All decisions come from here one after the other, so ranks of several sets do them in the
///    same order, and no two wait for each other.
/// 2. A set comes and goes with a decision of all ranks. What of it was ready before it goes is
///    decided before; what comes later is dropped, as those ranks learn from the same decision.
/// 3. While a set's first rank is busy nothing is decided for it, so that what becomes ready
///    meanwhile is fused.
/// 4. With a window, what is ready waits for more from when the first of it became ready, unless
///    nothing can be fused with it, or there is no room for more.
/// Not thread safe.
class SetCoordinators {
 public:
  /// `watch`: as of Coordinator.
  SetCoordinators(int ranks, Coordinator::Limits limits, SubmissionWatch* watch = nullptr);

  /// As of Coordinator.
  std::string Submit(int rank, const Submission& submission);
  /// A decision, and whom it is for.
  struct Addressed {
    Decision decision;
    std::shared_ptr<const std::vector<int>> members;
  };
  /// What is ready by now. `idle`: rank 0 has nothing to do. `now`: for windows.
  std::vector<Addressed> Decide(bool idle, Deadline now = {});
  /// When Decide() is to be called again at the latest, since a window ends.
  std::optional<Deadline> window_end() const { return window_end_; }
  /// From the next decision on.
  void SetFusion(size_t bytes, std::chrono::microseconds window);
  /// The set's first rank, if that is not rank 0, has done all that it had of it.
  void OnIdle(SetId set);
  /// A set that could not be made.
  void Drop(SetId set) { sets_.erase(set); }

 private:
  struct Set {
    std::unique_ptr<Coordinator> coordinator;
    std::shared_ptr<const std::vector<int>> members;
    bool busy = false;                    ///< its first rank, if that is not rank 0
    std::optional<Deadline> ready_since;  ///< where there is a window
  };

  Set Make(SetId id, std::vector<int> members) const;
  void Take(Set& set, std::vector<Addressed>& to);
  /// Whether what is ready is to wait for more.
  bool IsInWindow(const Set& set, Deadline now);
  /// What the decision does to sets, here. With an error it does nothing.
  void Apply(Decision& decision, std::vector<Addressed>& before);

  Coordinator::Limits limits_;
  SubmissionWatch* const watch_;
  std::map<SetId, Set> sets_;
  SetId last_id_ = kAllRanks;
  std::optional<Deadline> window_end_;
};

}  // namespace tony::collective
