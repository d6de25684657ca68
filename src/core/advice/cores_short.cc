// Tasks that would compute more if they had more processors.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/advice/heuristics.h"

namespace tony::core {
namespace {

constexpr double kThrottled = 0.1;  ///< share of periods
constexpr double kWaiting = 0.2;    ///< share of time
constexpr double kMuchThrottled = 0.3;

}  // namespace

std::vector<Advice> AdviseCoresShort(const JobFacts& facts) {
  std::vector<Advice> all;
  if (!facts.long_enough()) return all;
  for (const AskedType& type : facts.types()) {
    const int asked = type.vcores;
    if (asked < 1) continue;
    int short_of = 0;
    double most = 0;
    double throttled = 0;
    double waiting = 0;
    for (const TaskId& task : facts.TasksOf(type)) {
      const double busy = facts.Quantile(task, "cpu", 0.95).value_or(0);
      const double held_back = facts.Mean(task, "throttled").value_or(0);
      const double waits = facts.Mean(task, "cpu_wait").value_or(0);
      if (busy < 0.9 * asked || (held_back <= kThrottled && waits <= kWaiting)) continue;
      ++short_of;
      most = std::max(most, busy);
      throttled = std::max(throttled, held_back);
      waiting = std::max(waiting, waits);
    }
    if (short_of == 0) continue;
    const int enough = std::max(asked + 1, static_cast<int>(std::ceil(1.5 * asked)));
    Advice advice{"cores-short",
                  throttled > kMuchThrottled ? AdviceSeverity::kSevere : AdviceSeverity::kModerate,
                  short_of};
    advice.type = type.name;
    advice.sentence =
        absl::StrCat("Ask for ", enough, " cores for each task of type ", type.name, " instead of ",
                     asked, ", or start fewer threads by tony.", type.name, ".env");
    advice.evidence = absl::StrCat(
        short_of, " of ", type.instances, " tasks used ", NumberText(most), " cores; held back in ",
        PercentText(throttled), " of the scheduler's periods, waiting for a processor in ",
        PercentText(waiting), " of the time");
    advice.formula =
        "95th percentile of the cores used >= 90 % of those asked for, and throttled "
        "in > 10 % of the periods or waiting (PSI) > 20 % of the time";
    advice.cost = absl::StrCat("up to ", PercentText(std::max(throttled, waiting)), " of the run");
    advice.lines = {{absl::StrCat("tony.", type.name, ".vcores"), absl::StrCat(enough)}};
    all.push_back(std::move(advice));
  }
  return all;
}

}  // namespace tony::core
