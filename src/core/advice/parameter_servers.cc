// Parameter servers that hold up the workers, or have nothing to do.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/advice/heuristics.h"

namespace tony::core {
namespace {

/// The mean or the 95th percentile of the cores that a type's tasks use, as a share of those asked
/// for: the busiest task's. nullopt: not all were measured.
std::optional<double> BusiestShare(const JobFacts& facts, const AskedType& type, double quantile) {
  std::optional<double> most;
  for (const TaskId& task : facts.TasksOf(type)) {
    const std::optional<double> used = facts.Quantile(task, "cpu", quantile);
    if (!facts.measured(task) || !used) return std::nullopt;
    most = std::max(most.value_or(0), *used / std::max(1, type.vcores));
  }
  return most;
}

}  // namespace

std::vector<Advice> AdviseParameterServers(const JobFacts& facts) {
  const AskedType* const servers = facts.FindType("ps");
  const AskedType* const workers = facts.FindType("worker");
  if (servers == nullptr || workers == nullptr || servers->instances == 0) return {};
  if (!facts.long_enough() || !facts.went_well()) return {};
  const std::optional<double> busy = BusiestShare(facts, *servers, 0.95);
  const std::optional<double> work = BusiestShare(facts, *workers, 0.5);
  if (!busy || !work) return {};
  Advice advice{"parameter-servers", AdviceSeverity::kModerate, servers->instances};
  advice.type = servers->name;
  advice.evidence = absl::StrCat("the busiest parameter server used ", PercentText(*busy),
                                 " of its cores, the busiest worker ", PercentText(*work));
  advice.formula = "servers >= 90 % of their cores while workers < 50 %; or servers < 10 %";
  int instances = servers->instances;
  if (*busy >= 0.9 && *work < 0.5) {
    instances = 2 * servers->instances;
    advice.sentence = absl::StrCat("Start ", instances, " parameter servers instead of ",
                                   servers->instances, ": the workers wait for them");
  } else if (*busy < 0.1 && servers->instances > 1) {
    instances = std::max(1, servers->instances / 2);
    advice.severity = AdviceSeverity::kLow;
    advice.sentence = absl::StrCat("Start ", instances,
                                   instances == 1 ? " parameter server" : " parameter servers",
                                   " instead of ", servers->instances, ": they have little to do");
  } else {
    return {};
  }
  advice.lines = {{"tony.ps.instances", absl::StrCat(instances)}};
  return {std::move(advice)};
}

}  // namespace tony::core
