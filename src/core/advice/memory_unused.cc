// Memory that is asked for and never used. The peak of every task over all attempts counts.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/advice/heuristics.h"

namespace tony::core {
namespace {

/// Less is not worth a change of the job file.
constexpr int64_t kLittleMb = 2048;
constexpr int64_t kStepMb = 256;

struct Level {
  double below;  ///< used share
  AdviceSeverity severity;
};
constexpr Level kLevels[] = {{0.5, AdviceSeverity::kCritical},
                             {0.6, AdviceSeverity::kSevere},
                             {0.7, AdviceSeverity::kModerate},
                             {0.8, AdviceSeverity::kLow}};

}  // namespace

std::vector<Advice> AdviseMemoryUnused(const JobFacts& facts) {
  std::vector<Advice> all;
  if (!facts.long_enough() || !facts.went_well()) return all;
  for (const AskedType& type : facts.types()) {
    const auto asked = static_cast<double>(type.memory_mb);
    double peak = 0;
    TaskId highest;
    bool all_measured = type.instances > 0;
    for (const TaskId& task : facts.TasksOf(type)) {
      all_measured &= facts.measured(task);
      const double used = facts.Peak(task, "memory").value_or(0) / (1 << 20);
      if (used > peak) highest = task;
      peak = std::max(peak, used);
    }
    if (!all_measured || asked <= kLittleMb || asked <= peak + 2 * kStepMb) continue;
    const auto* const level = std::find_if(std::begin(kLevels), std::end(kLevels),
                                           [&](auto& each) { return peak / asked < each.below; });
    if (level == std::end(kLevels)) continue;
    const auto enough = static_cast<int64_t>(std::ceil(1.2 * peak / kStepMb)) * kStepMb;
    Advice advice{"memory-unused", level->severity, type.instances};
    advice.type = type.name;
    advice.sentence = absl::StrCat("Ask for ", enough, " MiB for each task of type ", type.name,
                                   " instead of ", type.memory_mb, " MiB");
    advice.evidence = absl::StrCat("highest use ", MebibytesText(peak), " (", highest.ToString(),
                                   "), ", PercentText(peak / asked), " of what is asked for");
    advice.formula =
        "peak of all tasks / asked, below 80, 70, 60, 50 %; 1.2 × the peak is enough "
        "(Dr. Elephant, TaskMemoryHeuristic)";
    advice.cost =
        absl::StrCat(MebibytesText((asked - static_cast<double>(enough)) * type.instances),
                     " that no other job can use");
    advice.lines = {{absl::StrCat("tony.", type.name, ".memory"), absl::StrCat(enough, "m")}};
    all.push_back(std::move(advice));
  }
  return all;
}

}  // namespace tony::core
