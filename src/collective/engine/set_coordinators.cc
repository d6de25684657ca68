// Each call of Decide() asks the coordinators whose first rank is free, in the order of the sets'
// numbers.
#include "collective/engine/set_coordinators.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tony::collective {

SetCoordinators::SetCoordinators(int ranks, Coordinator::Limits limits, SubmissionWatch* watch)
    : limits_(limits), watch_(watch) {
  std::vector<int> all(static_cast<size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  sets_.emplace(kAllRanks, Make(kAllRanks, std::move(all)));
}

SetCoordinators::Set SetCoordinators::Make(SetId id, std::vector<int> members) const {
  return {.coordinator = std::make_unique<Coordinator>(id, members, limits_, watch_),
          .members = std::make_shared<const std::vector<int>>(members)};
}

std::string SetCoordinators::Submit(int rank, const Submission& submission) {
  const auto found = sets_.find(submission.set);
  if (found != sets_.end()) return found->second.coordinator->Submit(rank, submission);
  // The set was removed, and the rank did not know yet. Numbers are never used again, so the rank
  // cannot mean another set.
  if (submission.set <= last_id_) return "";
  return "rank " + std::to_string(rank) + " submits to process set " +
         std::to_string(submission.set) + ", which nobody has made";
}

std::vector<SetCoordinators::Addressed> SetCoordinators::Decide(bool idle, Deadline now) {
  std::vector<Addressed> all;
  window_end_.reset();
  // The loop goes over a copy of the numbers: a decision of the first set, that of all ranks, may
  // add and remove sets.
  std::vector<SetId> ids;
  for (const auto& [id, set] : sets_) ids.push_back(id);
  for (const SetId id : ids) {
    const auto found = sets_.find(id);
    if (found == sets_.end()) continue;
    Set& set = found->second;
    const bool asks_first = set.members->front() == 0;
    const bool is_timed = limits_.window.count() > 0 && set.coordinator->has_ready();
    // The window begins when the first tensor is ready, not when the first rank is free: the time
    // of the operation before it counts.
    if (is_timed && !set.ready_since) set.ready_since = now;
    const bool is_free = asks_first ? idle : !set.busy;
    if (is_free && !IsInWindow(set, now)) Take(set, all);
  }
  return all;
}

bool SetCoordinators::IsInWindow(const Set& set, Deadline now) {
  if (!set.ready_since) return false;
  const Deadline end = *set.ready_since + limits_.window;
  if (now >= end || !set.coordinator->MayGrow()) return false;
  window_end_ = std::min(end, window_end_.value_or(end));
  return true;
}

void SetCoordinators::SetFusion(size_t bytes, std::chrono::microseconds window) {
  limits_.fusion_bytes = bytes;
  limits_.window = window;
  for (auto& [id, set] : sets_) set.coordinator->SetFusionBytes(bytes);
}

void SetCoordinators::Take(Set& set, std::vector<Addressed>& to) {
  const auto members = set.members;
  set.ready_since.reset();
  for (Decision& decision : set.coordinator->Decide()) {
    Apply(decision, to);
    to.push_back({std::move(decision), members});
    // Rank 0 says itself whether it is idle; any other first rank sends kIdle when it has executed
    // what it was sent.
    set.busy = members->front() != 0;
  }
}

void SetCoordinators::Apply(Decision& decision, std::vector<Addressed>& before) {
  if (!decision.error.empty()) return;
  if (decision.kind.operation == Operation::kAddSet) {
    std::vector<int> members;
    for (const int64_t rank : decision.tensors[0].lengths) {
      members.push_back(static_cast<int>(rank));
    }
    // A set of the same ranks is the same set: a group and its memory are made once.
    const auto same = std::find_if(sets_.begin(), sets_.end(),
                                   [&](const auto& set) { return *set.second.members == members; });
    if (same != sets_.end()) {
      decision.subject = same->first;
      return;
    }
    decision.subject = ++last_id_;
    sets_.emplace(last_id_, Make(last_id_, std::move(members)));
  } else if (decision.kind.operation == Operation::kRemoveSet) {
    const auto found = sets_.find(decision.subject);
    if (found == sets_.end() || decision.subject == kAllRanks) {
      decision.error = "process set " + std::to_string(decision.subject) +
                       (decision.subject == kAllRanks ? " is that of all ranks, and stays"
                                                      : " is not there, or has been removed");
      return;
    }
    // All ranks have submitted the set's ready tensors, so these are decided before the set goes.
    Take(found->second, before);
    found->second.coordinator->GiveUp();
    sets_.erase(found);
  }
}

void SetCoordinators::OnIdle(SetId set) {
  if (const auto found = sets_.find(set); found != sets_.end()) found->second.busy = false;
}

}  // namespace tony::collective
