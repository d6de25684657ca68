// The observer of what reaches a coordinator.
#pragma once

#include <string>
#include <vector>

#include "collective/request/request.h"

namespace tony::collective {

/// The name under which a tensor is watched and shown to people. It includes the process set, as a
/// name may be used in several sets.
inline std::string WatchedName(SetId set, const std::string& name) {
  return set == kAllRanks ? name : name + " of process set " + std::to_string(set);
}

/// A coordinator calls it about events in the order in which they happen. Not thread safe: on its
/// thread.
class SubmissionWatch {
 public:
  virtual ~SubmissionWatch() = default;

  /// `rank` has submitted a tensor. `members`: the ranks, ascending, that all are to submit it.
  virtual void OnSubmitted(const std::string& tensor, int rank,
                           const std::vector<int>& members) = 0;
  /// The tensor waits for nobody any more: all ranks have submitted it, it has failed, or its set
  /// was removed.
  virtual void OnReady(const std::string& tensor) = 0;
  virtual void OnJoined(int rank) = 0;
  /// The last rank has joined as well, which ends the join: from now on no rank counts as joined.
  virtual void OnAllJoined() = 0;
};

}  // namespace tony::collective
