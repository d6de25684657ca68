// Three filters over the failures: the guiltiest kind, the earliest ends, the host heard of first.
#include "core/judge/root_cause.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/judge/failure_kind.h"
#include "core/tasks/arrival_dates.h"

namespace tony::core {
namespace {

struct Suspect {
  size_t index;
  int64_t ended_millis;
  int64_t host_millis;
};

/// Of two failures of the same host: whether `left` came before `right`.
bool Earlier(const Suspect& left, const Suspect& right) {
  if (left.host_millis != 0 && right.host_millis != 0) return left.host_millis < right.host_millis;
  return left.ended_millis < right.ended_millis;
}

/// Rules 1 and 2: the failures of the guiltiest kind, each with a time.
std::vector<Suspect> GuiltiestKind(const std::vector<TaskFailure>& failures) {
  std::vector<FailureKind> kinds;
  for (const TaskFailure& failure : failures) kinds.push_back(KindOf(failure.exit));
  const FailureKind guiltiest = *std::min_element(kinds.begin(), kinds.end());
  std::vector<Suspect> suspects;
  int64_t known = 0;
  for (size_t i = 0; i < failures.size(); ++i) {
    const int64_t ended = failures[i].exit.ended_millis;
    if (ended != 0) known = ended;
    if (kinds[i] == guiltiest) suspects.push_back({i, known, failures[i].exit.host_millis});
  }
  return suspects;
}

}  // namespace

size_t RootCauseOf(const std::vector<TaskFailure>& failures) {
  const std::vector<Suspect> suspects = GuiltiestKind(failures);
  int64_t earliest = std::numeric_limits<int64_t>::max();
  for (const Suspect& suspect : suspects) earliest = std::min(earliest, suspect.ended_millis);
  const Suspect* chosen = nullptr;
  for (const Suspect& suspect : suspects) {
    if (suspect.ended_millis - earliest > kArrivalToleranceMillis) continue;
    const bool same_host =
        chosen != nullptr && failures[suspect.index].host_id == failures[chosen->index].host_id;
    if (chosen == nullptr || (same_host && Earlier(suspect, *chosen))) chosen = &suspect;
  }
  return chosen->index;
}

}  // namespace tony::core
