// How far the processes of a Horovod job are in finding each other, and whom the others wait for.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/rendezvous/rendezvous_store.h"
#include "core/rendezvous/rendezvous_wait.h"
#include "core/rendezvous/slot_plan.h"

namespace tony::core {

/// What a rank does in each scope, one after the other.
enum class RankStep {
  kAbsent,     ///< has put nothing
  kNamed,      ///< has put its machine's name ("rank_3"), but not its addresses ("3")
  kListening,  ///< has put its addresses; it waits for the others' and connects to them
  kConnected,  ///< is connected to all others: it has removed its addresses
};

/// A rank's progress in one scope.
struct RankProgress {
  Slot slot;
  int key = 0;  ///< the rank within the scope: its keys are "rank_<key>" and "<key>"
  RankStep step = RankStep::kAbsent;
};

/// One scope of the round.
struct ScopeProgress {
  std::string scope;
  int stage = 0;  ///< no rank is in two scopes of one stage, and each goes from stage to stage
  std::vector<RankProgress> ranks;  ///< by key

  bool complete() const;
};

/// In the order in which Horovod goes through them: "global", those of each host, those across
/// hosts; then those of process sets that are made of the same ranks, as far as they exist. Other
/// process sets are left out: the store does not know who belongs to them.
std::vector<ScopeProgress> ProgressOf(const RendezvousStore& store);

/// Whether a rank has begun, and one has not come to the end: they wait for each other, or are
/// about to go from one stage to the next.
bool SomebodyWaits(const std::vector<ScopeProgress>& progress);

inline constexpr size_t kMostNamedRanks = 8;
inline constexpr size_t kMostNamedScopes = 3;

/// Who keeps the others waiting, by task, rank, host and missing key: "1 of 4 ranks has not put its
/// addresses into 'global': worker:3 (rank 3 on b) has put nothing". Names scopes of the first
/// stage that is not complete, and in each scope ranks; at most so many, then how many more.
/// `missing` has all of them. `tasks`: by rank, one for each.
RendezvousWait DescribeMissing(const std::vector<ScopeProgress>& progress,
                               const std::vector<std::string>& tasks);

}  // namespace tony::core
