// Which ranks have submitted a tensor, since when they wait, and for whom.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "collective/base/deadline.h"

namespace tony::collective {

/// Computation only, of the rank that decides. A rank is waited for while it is the only one that
/// is missing at a tensor, or at several at once: so the sums of ranks can be compared with the
/// time that a training takes. Not thread safe.
class Arrivals {
 public:
  /// Of some members, but not of all.
  struct Waiting {
    std::string name;
    Deadline since;            ///< the first rank's submission
    std::vector<int> arrived;  ///< ranks
    std::vector<int> missing;  ///< ranks that have not joined
  };

  explicit Arrivals(int ranks);

  /// `members`: ranks, ascending, of which all are to submit it. True: nothing has waited before.
  bool Submitted(const std::string& tensor, int rank, const std::vector<int>& members,
                 Deadline now);
  void Ready(const std::string& tensor, Deadline now);
  /// It submits nothing until all have joined.
  void Joined(int rank, Deadline now);
  void AllJoined();

  /// Those that have waited since `since` or longer, in the order of time.
  std::vector<Waiting> Since(Deadline since) const;
  /// Since when the one waits that has waited longest.
  std::optional<Deadline> Oldest() const;
  /// By rank: for how long others have waited for it.
  std::vector<std::chrono::nanoseconds> WaitedFor(Deadline now) const;

 private:
  struct Tensor {
    Deadline since;
    std::vector<int> members;
    bool of_all = false;        ///< only there who has joined is not missing
    std::vector<bool> arrived;  ///< of all ranks
    int count = 0;
    int sole = -1;  ///< who alone is missing; below 0: several are
  };
  struct Rank {
    int tensors = 0;  ///< at which it alone is missing
    Deadline since;   ///< of the first of them
    std::chrono::nanoseconds waited{0};
    bool joined = false;
  };

  bool IsMissing(const Tensor& tensor, int rank) const;
  void FindSole(Tensor& tensor, Deadline now);
  void Release(Tensor& tensor, Deadline now);

  std::vector<Rank> ranks_;
  int joined_ = 0;
  std::unordered_map<std::string, Tensor> tensors_;
};

}  // namespace tony::collective
