// The progress of a Horovod job's processes in finding each other, and the tasks that the others
// wait for.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/rendezvous/rendezvous_store.h"
#include "core/rendezvous/rendezvous_wait.h"
#include "core/rendezvous/slot_plan.h"

namespace tony::core {

/// The steps of a rank in one scope, in their order.
enum class RankStep {
  kAbsent,     ///< the rank has put nothing
  kNamed,      ///< the rank has put its machine's name ("rank_3"), but not its addresses ("3")
  kListening,  ///< the rank has put its addresses; it waits for the others' and connects to them
  kConnected,  ///< the rank is connected to all others: it has removed its addresses
};

/// A rank's progress in one scope.
struct RankProgress {
  Slot slot;
  int key = 0;  ///< the rank within the scope; its keys are "rank_<key>" and "<key>"
  RankStep step = RankStep::kAbsent;
};

/// One scope of the round.
struct ScopeProgress {
  std::string scope;
  int stage = 0;  ///< each rank goes from stage to stage, and is in at most one scope of a stage
  std::vector<RankProgress> ranks;  ///< by key

  bool complete() const;
};

/// The scopes in the order in which Horovod goes through them: "global", the scope of each host,
/// the scopes across hosts; then the scopes of process sets that are made of the same ranks, if
/// they exist. Other process sets are left out: the store does not know their ranks.
std::vector<ScopeProgress> ProgressOf(const RendezvousStore& store);

/// True when a rank has begun and another one has not come to the end: the ranks wait for each
/// other, or are about to go from one stage to the next.
bool SomebodyWaits(const std::vector<ScopeProgress>& progress);

inline constexpr size_t kMostNamedRanks = 8;
inline constexpr size_t kMostNamedScopes = 3;

/// The tasks that keep the others waiting, with rank, host and missing key: "1 of 4 ranks has not
/// put its addresses into 'global': worker:3 (rank 3 on b) has put nothing". The sentence names
/// scopes of the first incomplete stage, and ranks in each scope: at most kMostNamedScopes and
/// kMostNamedRanks, then how many more. `missing` has all of them. `tasks`: one for each rank, by
/// rank.
RendezvousWait DescribeMissing(const std::vector<ScopeProgress>& progress,
                               const std::vector<std::string>& tasks);

}  // namespace tony::core
