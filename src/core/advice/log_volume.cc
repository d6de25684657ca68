// Programs that print so much that parts of their logs were dropped. Each executor notes that once
// for a log (logs::SegmentedLog), with the limit that was reached.
#include <algorithm>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/advice/heuristics.h"

namespace tony::core {
namespace {

constexpr absl::string_view kReachedLimit = " has reached its limit of ";
constexpr absl::string_view kUnit = " MiB (tony.task.log.max-size";
/// tony.application.log.max-size of a job that does not set it, for all of its logs.
constexpr int64_t kMostMebibytes = int64_t{64} << 10;

/// The limit in MiB that a note speaks of; 0: it speaks of none.
int64_t LimitIn(absl::string_view note) {
  const size_t begin = note.find(kReachedLimit);
  if (begin == absl::string_view::npos) return 0;
  note.remove_prefix(begin + kReachedLimit.size());
  const size_t end = note.find(kUnit);
  int64_t limit = 0;
  if (end == absl::string_view::npos || !absl::SimpleAtoi(note.substr(0, end), &limit)) return 0;
  return std::clamp<int64_t>(limit, 0, kMostMebibytes);
}

}  // namespace

std::vector<Advice> AdviseLogVolume(const JobFacts& facts) {
  int logs = 0;
  int64_t limit = 0;
  std::string first;
  for (const std::string& note : facts.view().notes) {
    const int64_t found = LimitIn(note);
    if (found == 0) continue;
    if (logs++ == 0) first = note;
    limit = std::max(limit, found);
  }
  if (logs == 0) return {};
  Advice advice{"log-volume", AdviceSeverity::kModerate, logs};
  advice.sentence = "Print less, or keep more: parts of logs were dropped";
  advice.evidence = absl::StrCat(logs, logs == 1 ? " log was" : " logs were",
                                 " longer than allowed; the first: ", first);
  advice.formula = "parts of a log were dropped (as Dr. Elephant's limit on event logs)";
  const int64_t proposed = 2 * std::max<int64_t>(1, limit);
  if (proposed <= kMostMebibytes) {
    advice.lines = {{"tony.task.log.max-size", absl::StrCat(proposed, "m")}};
  }
  return {std::move(advice)};
}

}  // namespace tony::core
