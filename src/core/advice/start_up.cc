// Time between the submission and the first step.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/advice/heuristics.h"
#include "core/record/duration_text.h"

namespace tony::core {
namespace {

constexpr int64_t kLongMillis = 120'000;
constexpr double kMuch = 0.2;
constexpr double kVeryMuch = 0.5;

}  // namespace

std::vector<Advice> AdviseStartUp(const JobFacts& facts) {
  const JobView& view = facts.view();
  // After a restart the times of the first start are gone.
  if (view.attempt_began_millis == 0 || !view.attempts.empty() || !facts.long_enough()) return {};
  int64_t first_step = 0;
  for (const AskedType& type : facts.types()) {
    for (const TaskId& task : facts.TasksOf(type)) {
      first_step = std::max(first_step, facts.FirstStepMillis(task));
    }
  }
  const int64_t began = view.attempt_began_millis;
  const int64_t before = began - view.submitted_millis;
  const int64_t own = std::max<int64_t>(0, first_step - began);
  const int64_t whole = facts.end_millis() - view.submitted_millis;
  const int64_t start_up = before + own;
  if (whole <= 0 || start_up <= kLongMillis) return {};
  const double share = static_cast<double>(start_up) / static_cast<double>(whole);
  if (share <= kMuch) return {};
  Advice advice{"start-up", share > kVeryMuch ? AdviceSeverity::kSevere : AdviceSeverity::kModerate,
                static_cast<int>(view.tasks.size())};
  advice.sentence =
      own > before
          ? "Shorten what the program does before its first step: imports, reading of data, "
            "compilation"
          : "Shorten the start: ask for less so that machines are found sooner, or keep the "
            "environment on the hosts (tony.containers.resources, an image)";
  advice.evidence =
      absl::StrCat(FormatDuration(before), " until the programs began",
                   own > 0 ? absl::StrCat(", ", FormatDuration(own), " until the first step") : "",
                   ": ", PercentText(share), " of ", FormatDuration(whole));
  advice.formula =
      "(first step - submission) / whole time > 20 %, and > 2 minutes (BootSeer, 2025: "
      "start-up costs more than 3.5 % of all GPU time)";
  advice.cost = absl::StrCat(FormatDuration(start_up), " in each run");
  return {std::move(advice)};
}

}  // namespace tony::core
