// What rank 0 says of tensors that wait too long.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/watch/arrivals.h"

namespace tony::collective {

/// 1. The ranks that are missing are asked where they stand.
/// 2. Each says that it has heard, and then what its program answers: where it stands, in a line,
///    and any lines more, which are its stacks.
/// 3. When all have answered, or nobody does in time, there is a text, of what still waits then.
/// Computation only. Not thread safe.
class StallReport {
 public:
  /// `waiting`: not empty.
  explicit StallReport(std::vector<Arrivals::Waiting> waiting);

  /// Who is to be asked.
  std::vector<int> missing() const;
  void OnHeard(int rank);
  /// It has nobody who would answer.
  void OnMute(int rank);
  void OnAnswer(int rank, const std::string& answer);
  /// All have said what they can say.
  bool complete() const;
  /// `waiting`: what waits by now, in the order of time. What has not waited from the beginning on
  /// is no part of it.
  void Keep(const std::vector<Arrivals::Waiting>& waiting);
  bool empty() const { return waiting_.empty(); }

  // If it is not empty:

  /// Lines for people; the last one ends, too.
  std::string Text(Deadline now) const;
  /// Of the tensor that has waited longest: "tensor 'fc.weight': ranks 0, 2 wait since 61 s for
  /// rank 1, which stands at train.py:40 in load_batch".
  std::string Sentence(Deadline now) const;

 private:
  enum class State { kAsked, kHeard, kMute, kAnswered };
  struct Rank {
    State state = State::kAsked;
    std::string place;   ///< the answer's first line
    std::string stacks;  ///< the rest
  };

  std::string Sentence(const std::vector<std::string>& names, const Arrivals::Waiting& waiting,
                       Deadline now) const;
  /// ", which stands at …"
  std::string Where(int rank) const;

  std::vector<Arrivals::Waiting> waiting_;
  std::map<int, Rank> ranks_;
};

}  // namespace tony::collective
