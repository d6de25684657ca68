// Memory that nearly does not suffice, or did not.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/advice/heuristics.h"

namespace tony::core {
namespace {

constexpr double kTight = 0.9;
constexpr double kVeryTight = 0.95;
constexpr int64_t kStepMb = 256;

/// Whether a task of the type was ended because it used too much.
bool RanOut(const JobFacts& facts, const AskedType& type) {
  const auto ran_out = [](const std::optional<TaskExit>& exit) {
    return exit && exit->cause == TaskExit::Cause::kOutOfMemory;
  };
  const std::optional<Verdict>& verdict = facts.view().verdict;
  if (verdict && verdict->guilty && verdict->guilty->type == type.name && ran_out(verdict->exit)) {
    return true;
  }
  const auto& tasks = facts.view().tasks;
  return std::any_of(tasks.begin(), tasks.end(), [&](const JobView::Task& task) {
    return task.last.task.type == type.name && ran_out(task.last.exit);
  });
}

}  // namespace

std::vector<Advice> AdviseMemoryTight(const JobFacts& facts) {
  std::vector<Advice> all;
  for (const AskedType& type : facts.types()) {
    const auto asked = static_cast<double>(type.memory_mb);
    if (asked <= 0) continue;
    double peak = 0;
    int tight = 0;
    for (const TaskId& task : facts.TasksOf(type)) {
      const double used = facts.Peak(task, "memory").value_or(0) / (1 << 20);
      if (used >= kTight * asked) ++tight;
      peak = std::max(peak, used);
    }
    const bool ran_out = RanOut(facts, type);
    if (!ran_out && tight == 0) continue;
    const double needed = 1.25 * (ran_out ? std::max(peak, asked) : peak);
    const auto enough = static_cast<int64_t>(std::ceil(needed / kStepMb)) * kStepMb;
    if (enough <= type.memory_mb) continue;
    Advice advice{"memory-tight", AdviceSeverity::kModerate, std::max(tight, 1)};
    if (peak >= kVeryTight * asked) advice.severity = AdviceSeverity::kSevere;
    if (ran_out) advice.severity = AdviceSeverity::kCritical;
    advice.type = type.name;
    advice.sentence =
        absl::StrCat("Ask for ", enough, " MiB for each task of type ", type.name,
                     ran_out ? ": the memory did not suffice" : ": the memory suffices only just");
    advice.evidence =
        absl::StrCat("highest use ", MebibytesText(peak), " of ", type.memory_mb, " MiB",
                     ran_out ? "; a task was ended because it used more" : "");
    advice.formula =
        "peak of a task >= 90 % of what is asked for, or OUT_OF_MEMORY; 1.25 × the "
        "larger of both";
    advice.lines = {{absl::StrCat("tony.", type.name, ".memory"), absl::StrCat(enough, "m")}};
    all.push_back(std::move(advice));
  }
  return all;
}

}  // namespace tony::core
