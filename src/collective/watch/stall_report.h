// The report of rank 0 about tensors that wait too long.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/watch/arrivals.h"

namespace tony::collective {

/// 1. The missing ranks are asked where they stand.
/// 2. Each rank says that it has heard, and then what its program answers: one line with its place,
///    and optionally more lines with its stacks.
/// 3. When all have answered, or the time for it is over, the report's text is made, about the
///    tensors that still wait then.
/// Computation only. Not thread safe.
class StallReport {
 public:
  /// `waiting`: the tensors that wait; not empty.
  explicit StallReport(std::vector<Arrivals::Waiting> waiting);

  /// The missing ranks, which are to be asked.
  std::vector<int> missing() const;
  void OnHeard(int rank);
  /// The rank's program does not answer questions.
  void OnMute(int rank);
  void OnAnswer(int rank, const std::string& answer);
  /// Whether each rank has answered, or is known not to.
  bool complete() const;
  /// Drops the tensors that no longer wait. `waiting`: all tensors that wait now, the oldest first.
  /// Tensors that began to wait after the report did are not added.
  void Keep(const std::vector<Arrivals::Waiting>& waiting);
  bool empty() const { return waiting_.empty(); }
  /// The tensors that wait.
  std::set<std::string> names() const;
  /// Since when all of them wait.
  Deadline newest() const { return waiting_.back().since; }

  // Only if it is not empty():

  /// The report as lines for people, each with a newline at its end.
  std::string Text(Deadline now) const;
  /// One sentence about the tensor that has waited longest: "tensor 'fc.weight': ranks 0, 2 wait
  /// since 61 s for rank 1, which stands at train.py:40 in load_batch".
  std::string Sentence(Deadline now) const;
  /// One line without times, for the job's status: "rank 1 in allreduce.metric, rank 0 in
  /// allgather.metric, both at hv.py:12", or "ranks 0, 2 in allreduce.w; rank 1 at train.py:40 in
  /// load_batch".
  std::string Summary() const;
  /// Whether the ranks wait for each other in different operations, so that none can go on: each
  /// missing rank waits itself for another one, and its whole program has said that it only waits
  /// in an operation. The caller knows that no operation has been executed meanwhile.
  bool IsDeadlock() const;

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
  /// ", both at hv.py:12"; empty: the ranks have not said that they stand at one place.
  std::string CommonPlace() const;
  /// Whether a rank has submitted one of the tensors that wait.
  bool Waits(int rank) const;

  std::vector<Arrivals::Waiting> waiting_;
  std::map<int, Rank> ranks_;
};

}  // namespace tony::collective
