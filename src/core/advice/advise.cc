// Every heuristic is asked. Those that need measurements say nothing about a short run; this file
// says it for them, once.
#include "core/advice/advise.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "core/advice/heuristics.h"
#include "core/record/duration_text.h"

namespace tony::core {
namespace {

using Heuristic = std::vector<Advice> (*)(const JobFacts& facts);

// In the order in which equal advice is shown: what saves the job comes before what saves
// resources.
constexpr Heuristic kHeuristics[] = {
    AdviseSameFailure, AdviseMemoryTight,   AdviseStraggler,  AdviseCheckpointInterval,
    AdviseLostWork,    AdviseExchangeBound, AdviseInputBound, AdviseCoresShort,
    AdviseGpusUnused,  AdviseStartUp,       AdviseLogVolume,  AdviseParameterServers,
    AdviseCoresUnused, AdviseMemoryUnused,
};

/// Tasks that wait for their input do not use their cores. When the input is faster they will, so
/// the one advice excludes the other. So does a computed interval of checkpoints the advice to
/// write them more often.
void DropContradictions(std::vector<Advice>& advice) {
  std::set<std::string> starved;
  bool has_interval = false;
  for (const Advice& each : advice) {
    if (each.heuristic == "input-bound") starved.insert(each.type);
    has_interval = has_interval || each.heuristic == "checkpoint-interval";
  }
  std::erase_if(advice, [&](const Advice& each) {
    return (each.heuristic == "cores-unused" && starved.contains(each.type)) ||
           (each.heuristic == "lost-work" && has_interval);
  });
}

std::string ReservationOf(const JobFacts& facts) {
  if (facts.long_enough()) return "";
  const std::string least = FormatDuration(facts.gate.least_run_millis);
  if (facts.run_millis() == 0) {
    return absl::StrCat(
        "The tasks' programs have not run, so there is nothing to judge their "
        "settings by");
  }
  return absl::StrCat("The programs have run for ", FormatDuration(facts.run_millis()),
                      ", too short to judge their use of the machine: that takes ", least);
}

}  // namespace

JobAdvice AdviseJob(const JobFacts& facts) {
  JobAdvice result;
  for (const Heuristic heuristic : kHeuristics) {
    for (Advice& advice : heuristic(facts)) result.advice.push_back(std::move(advice));
  }
  DropContradictions(result.advice);
  std::stable_sort(result.advice.begin(), result.advice.end(),
                   [](const Advice& left, const Advice& right) {
                     if (left.severity != right.severity) return left.severity > right.severity;
                     return left.score() > right.score();
                   });
  result.reservation = ReservationOf(facts);
  return result;
}

std::string AdviceLineOf(const JobAdvice& advice) {
  if (advice.advice.empty()) return "";
  const size_t more = advice.advice.size() - 1;
  return absl::StrCat("Advice: ", advice.advice.front().sentence,
                      more == 0 ? "" : absl::StrCat("; and ", more, " more: see tony advise"));
}

}  // namespace tony::core
