// The store keeps no state per rank: each step is derived from the keys that a scope has.
#include "core/rendezvous/rendezvous_progress.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tony::core {
namespace {

constexpr int kSizedStages = 3;
constexpr char kProcessSetMark[] = "_process_set_hash_";

RankStep StepOf(const RendezvousScope& scope, int key) {
  // An empty scope is one that nobody has entered, or one that all ranks have finished and that was
  // emptied.
  if (scope.entries.empty()) {
    return scope.completions > 0 ? RankStep::kConnected : RankStep::kAbsent;
  }
  const auto addresses = scope.entries.find(std::to_string(key));
  if (addresses != scope.entries.end()) {
    return addresses->second.finished ? RankStep::kConnected : RankStep::kListening;
  }
  return scope.entries.contains(NameKey(key)) ? RankStep::kNamed : RankStep::kAbsent;
}

/// `progress` with the step of each of its ranks.
ScopeProgress WithSteps(ScopeProgress progress, const RendezvousScope& scope) {
  for (RankProgress& rank : progress.ranks) rank.step = StepOf(scope, rank.key);
  return progress;
}

/// The scopes that are made of the plan, in the order in which Horovod goes through them.
std::vector<ScopeProgress> MembersOfScopes(const std::vector<Slot>& plan) {
  ScopeProgress global{.scope = "global", .stage = 0};
  std::vector<ScopeProgress> local;
  std::map<int, ScopeProgress> cross;
  for (const Slot& slot : plan) {
    global.ranks.push_back({slot, slot.rank});
    if (slot.local_rank == 0) {
      local.push_back({.scope = absl::StrCat("local_", slot.host), .stage = 1});
    }
    local.back().ranks.push_back({slot, slot.local_rank});
    ScopeProgress& across = cross[slot.local_rank];
    across.scope = absl::StrCat("cross_", slot.local_rank);
    across.stage = 2;
    across.ranks.push_back({slot, slot.cross_rank});
  }
  std::vector<ScopeProgress> scopes;
  scopes.push_back(std::move(global));
  scopes.insert(scopes.end(), local.begin(), local.end());
  for (auto& [local_rank, across] : cross) scopes.push_back(std::move(across));
  return scopes;
}

/// True when a rank of the scope has put addresses for `ranks` ranks.
bool HasAddressesFor(const RendezvousScope& scope, size_t ranks) {
  return std::any_of(scope.entries.begin(), scope.entries.end(), [ranks](const auto& entry) {
    return IsAddressKey(entry.first) && entry.second.value != nullptr &&
           entry.second.value->size() == kAddressBytes * (ranks - 1);
  });
}

using Tasks = std::vector<std::string>;  // by rank

const std::string& TaskOf(const RankProgress& rank, const Tasks& tasks) {
  return tasks.at(static_cast<size_t>(rank.slot.rank));
}

std::string WhatIsMissing(const RankProgress& rank, const Tasks& tasks) {
  const std::string name = NameOfRank(TaskOf(rank, tasks), rank.slot);
  if (rank.step == RankStep::kAbsent) return absl::StrCat(name, " has put nothing");
  if (rank.step == RankStep::kListening) return name;
  return absl::StrCat(name, " has put ", NameKey(rank.key), " but not ", rank.key);
}

std::string NameSome(const std::vector<RankProgress>& ranks, const Tasks& tasks) {
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(ranks.size(), kMostNamedRanks); ++i) {
    names.push_back(WhatIsMissing(ranks[i], tasks));
  }
  if (ranks.size() > names.size()) {
    names.push_back(absl::StrCat("and ", ranks.size() - names.size(), " more"));
  }
  return absl::StrJoin(names, ", ");
}

RendezvousWait DescribeScope(const ScopeProgress& scope, const Tasks& tasks) {
  std::vector<RankProgress> silent, unconnected;
  for (const RankProgress& rank : scope.ranks) {
    if (rank.step < RankStep::kListening) silent.push_back(rank);
    if (rank.step == RankStep::kListening) unconnected.push_back(rank);
  }
  // Ranks without addresses hold up the others; only if there is none are the unconnected ranks to
  // blame.
  const std::vector<RankProgress>& awaited = silent.empty() ? unconnected : silent;
  RendezvousWait wait;
  for (const RankProgress& rank : awaited) wait.missing.push_back(TaskOf(rank, tasks));
  const std::string count = absl::StrCat(awaited.size(), " of ", scope.ranks.size(),
                                         scope.ranks.size() == 1 ? " rank" : " ranks",
                                         awaited.size() == 1 ? " has" : " have");
  if (!silent.empty()) {
    wait.sentence = absl::StrCat(count, " not put ", silent.size() == 1 ? "its" : "their",
                                 " addresses into '", scope.scope, "': ", NameSome(silent, tasks));
  } else {
    wait.sentence = absl::StrCat(count, " not connected to all others of '", scope.scope,
                                 "', whose addresses are there: ", NameSome(unconnected, tasks));
  }
  return wait;
}

}  // namespace

bool ScopeProgress::complete() const {
  return std::all_of(ranks.begin(), ranks.end(),
                     [](const RankProgress& rank) { return rank.step == RankStep::kConnected; });
}

std::vector<ScopeProgress> ProgressOf(const RendezvousStore& store) {
  const auto scopes = store.scopes();
  std::vector<ScopeProgress> progress;
  if (store.plan().empty()) return progress;
  const std::vector<ScopeProgress> sized = MembersOfScopes(store.plan());
  for (const ScopeProgress& scope : sized) {
    progress.push_back(WithSteps(scope, *scopes.at(scope.scope)));
  }
  for (const ScopeProgress& base : sized) {
    // Horovod repeats the three groups for the process set of all ranks, under the same name with a
    // hash. A smaller process set has fewer addresses per rank and is left out.
    const std::string prefix = base.scope + kProcessSetMark;
    for (auto scope = scopes.lower_bound(prefix);
         scope != scopes.end() && scope->first.starts_with(prefix); ++scope) {
      if (!HasAddressesFor(*scope->second, base.ranks.size())) continue;
      progress.push_back(WithSteps(
          {.scope = scope->first, .stage = base.stage + kSizedStages, .ranks = base.ranks},
          *scope->second));
    }
  }
  return progress;
}

bool SomebodyWaits(const std::vector<ScopeProgress>& progress) {
  bool begun = false, over = true;
  for (const ScopeProgress& scope : progress) {
    over = over && scope.complete();
    begun = begun || std::any_of(scope.ranks.begin(), scope.ranks.end(),
                                 [](const auto& rank) { return rank.step != RankStep::kAbsent; });
  }
  return begun && !over;
}

RendezvousWait DescribeMissing(const std::vector<ScopeProgress>& progress, const Tasks& tasks) {
  RendezvousWait wait;
  std::vector<std::string> sentences;
  std::optional<int> stage;
  size_t more = 0;
  for (const ScopeProgress& scope : progress) {
    // Later stages wait for the first incomplete one, so only that one is described.
    if (scope.complete() || scope.stage != stage.value_or(scope.stage)) continue;
    stage = scope.stage;
    RendezvousWait here = DescribeScope(scope, tasks);
    wait.missing.insert(wait.missing.end(), here.missing.begin(), here.missing.end());
    if (sentences.size() < kMostNamedScopes) {
      sentences.push_back(std::move(here.sentence));
    } else {
      ++more;
    }
  }
  if (more > 0) sentences.push_back(absl::StrCat(more, more == 1 ? " scope more" : " scopes more"));
  wait.sentence = absl::StrJoin(sentences, "; ");
  return wait;
}

}  // namespace tony::core
