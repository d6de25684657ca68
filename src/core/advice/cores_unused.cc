// Processors that are asked for and not used, not even at the busiest times.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/advice/heuristics.h"

namespace tony::core {
namespace {

constexpr double kBusyTimes = 0.95;

AdviceSeverity SeverityOf(double share) {
  if (share < 0.2) return AdviceSeverity::kSevere;
  return share < 0.35 ? AdviceSeverity::kModerate : AdviceSeverity::kLow;
}

}  // namespace

std::vector<Advice> AdviseCoresUnused(const JobFacts& facts) {
  std::vector<Advice> all;
  if (!facts.long_enough() || !facts.went_well()) return all;
  for (const AskedType& type : facts.types()) {
    const int asked = type.vcores;
    if (asked < 2) continue;
    double most = 0;
    bool all_measured = type.instances > 0;
    for (const TaskId& task : facts.TasksOf(type)) {
      const std::optional<double> busy = facts.Quantile(task, "cpu", kBusyTimes);
      all_measured &= facts.measured(task) && busy.has_value();
      most = std::max(most, busy.value_or(0));
    }
    const int enough = std::max(1, static_cast<int>(std::ceil(most)));
    if (!all_measured || most >= 0.5 * asked || enough >= asked) continue;
    Advice advice{"cores-unused", SeverityOf(most / asked), type.instances};
    advice.type = type.name;
    advice.sentence = absl::StrCat("Ask for ", enough, enough == 1 ? " core" : " cores",
                                   " for each task of type ", type.name, " instead of ", asked);
    advice.evidence = absl::StrCat("in 95 % of the time the busiest task used ", NumberText(most),
                                   " cores or fewer");
    advice.formula =
        "95th percentile of the cores used over ten seconds < 50 % of those asked for "
        "(the efficiency of Slurm's seff)";
    advice.cost =
        absl::StrCat((asked - enough) * type.instances, " cores that no other job can use");
    advice.lines = {{absl::StrCat("tony.", type.name, ".vcores"), absl::StrCat(enough)}};
    all.push_back(std::move(advice));
  }
  return all;
}

}  // namespace tony::core
