// Who sees what reaches a coordinator.
#pragma once

#include <string>
#include <vector>

#include "collective/request/request.h"

namespace tony::collective {

/// Under which a tensor is watched, and people read of it: a name may come again in another set.
inline std::string WatchedName(SetId set, const std::string& name) {
  return set == kAllRanks ? name : name + " of process set " + std::to_string(set);
}

/// Told by a coordinator, in the order in which it happens. Not thread safe: on its thread.
class SubmissionWatch {
 public:
  virtual ~SubmissionWatch() = default;

  /// `members`: ranks, ascending, of which all are to submit it.
  virtual void OnSubmitted(const std::string& tensor, int rank,
                           const std::vector<int>& members) = 0;
  /// It waits for nobody any more: all have submitted it, or it has failed before.
  virtual void OnReady(const std::string& tensor) = 0;
  virtual void OnJoined(int rank) = 0;
  /// The last one, too: from now on no rank has joined.
  virtual void OnAllJoined() = 0;
};

}  // namespace tony::collective
