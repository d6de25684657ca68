// Keeps, at rank 0, which ranks have submitted a tensor, since when they wait, and for whom.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "collective/base/deadline.h"

namespace tony::collective {

/// Computation only, of the rank that decides. A rank is waited for while it is the only missing
/// rank at one tensor or at several. That is a length of time, not a sum over tensors, so it can be
/// compared with the time that the training takes. Not thread safe.
class Arrivals {
 public:
  /// A tensor that some members have submitted, but not all.
  struct Waiting {
    std::string name;
    Deadline since;            ///< the first rank's submission
    std::vector<int> arrived;  ///< ranks that have submitted it
    std::vector<int> missing;  ///< ranks that have neither submitted it nor joined
  };

  explicit Arrivals(int ranks);

  /// `rank` has submitted a tensor that all of `members` (ranks, ascending) are to submit. Returns
  /// true if no tensor was waiting before.
  bool Submitted(const std::string& tensor, int rank, const std::vector<int>& members,
                 Deadline now);
  void Ready(const std::string& tensor, Deadline now);
  /// `rank` has joined: it submits nothing until all ranks have joined.
  void Joined(int rank, Deadline now);
  void AllJoined();

  /// The tensors that have waited since `since` or longer, the oldest first.
  std::vector<Waiting> Since(Deadline since) const;
  /// When the oldest waiting tensor was first submitted; none: nothing waits.
  std::optional<Deadline> Oldest() const;
  /// By rank: how long the others have waited for it alone.
  std::vector<std::chrono::nanoseconds> WaitedFor(Deadline now) const;

 private:
  struct Tensor {
    Deadline since;
    std::vector<int> members;
    /// Whether `members` are all ranks; only then a joined rank is not missing.
    bool of_all = false;
    std::vector<bool> arrived;  ///< by rank of the job
    int count = 0;
    int sole = -1;  ///< the only missing rank; below 0: several are missing
  };
  struct Rank {
    int tensors = 0;  ///< tensors at which it is the only missing rank
    Deadline since;   ///< when the first of these tensors began to wait for it alone
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
