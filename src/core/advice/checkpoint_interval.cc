// How often to write checkpoints, from how long one takes and how often the job fails.
//
//   1. The cost of a checkpoint (δ) and how many there were are what the program reports of them
//      (tony.report(checkpoint=…)): of the task that needs longest.
//   2. The mean time between failures (M) is the job's time over its restarts, of which two at
//      least are needed.
//   3. At an interval T the expected loss is δ/T for writing, and T/2M for the work since the last
//      checkpoint. It is least at T = √(2δM) (Young 1974); Daly (2006) takes δ off.
//   4. An interval is worth advice if it saves more than a hundredth of the run.
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/advice/heuristics.h"
#include "core/record/duration_text.h"

namespace tony::core {
namespace {

constexpr size_t kLeastFailures = 2;
/// A mean of two or three intervals says little about the next one.
constexpr int64_t kLeastCheckpoints = 2;
constexpr double kWorthwhile = 0.01;
constexpr double kMuch = 0.05;

/// A task's checkpoints in its present run.
struct Checkpoints {
  TaskId task;
  double cost = 0;      ///< seconds that writing one takes
  double interval = 0;  ///< seconds from one to the next, writing included
  int64_t count = 0;
};

std::optional<Checkpoints> CheckpointsOf(const JobFacts& facts, const TaskId& task) {
  const JobView::Task* const found = facts.view().FindTask(task);
  if (found == nullptr || !found->usage || !found->usage->progress) return std::nullopt;
  const std::optional<ProgressCheckpoint>& newest = found->usage->progress->checkpoint;
  if (!newest || newest->seconds <= 0 || newest->count < kLeastCheckpoints ||
      !facts.InAttempt(newest->millis)) {
    return std::nullopt;
  }
  const int64_t millis = newest->millis - facts.view().attempt_began_millis;
  if (millis <= 0) return std::nullopt;
  return Checkpoints{task, newest->seconds,
                     static_cast<double>(millis) / 1000 / static_cast<double>(newest->count),
                     newest->count};
}

/// The dearest ones, since all tasks wait for them.
std::optional<Checkpoints> DearestCheckpoints(const JobFacts& facts) {
  std::optional<Checkpoints> dearest;
  for (const AskedType& type : facts.types()) {
    for (const TaskId& task : facts.TasksOf(type)) {
      const std::optional<Checkpoints> found = CheckpointsOf(facts, task);
      if (found && (!dearest || found->cost > dearest->cost)) dearest = found;
    }
  }
  return dearest;
}

std::string SecondsText(double seconds) {
  return FormatDuration(static_cast<int64_t>(std::lround(1000 * seconds)));
}

}  // namespace

std::vector<Advice> AdviseCheckpointInterval(const JobFacts& facts) {
  const size_t failures = facts.view().attempts.size();
  const double whole =
      static_cast<double>(facts.end_millis() - facts.view().submitted_millis) / 1000;
  if (failures < kLeastFailures ||
      1000 * whole < static_cast<double>(facts.gate.least_run_millis)) {
    return {};
  }
  const std::optional<Checkpoints> seen = DearestCheckpoints(facts);
  if (!seen) return {};
  const double between = whole / static_cast<double>(failures);
  const double best = std::sqrt(2 * seen->cost * between) - seen->cost;
  // Where a checkpoint takes as long as the job lives, no interval helps.
  if (best <= seen->cost) return {};
  const auto loss = [&](double interval) {
    return seen->cost / interval + interval / (2 * between);
  };
  const double gain = std::min(1.0, loss(seen->interval)) - loss(best);
  if (gain <= kWorthwhile) return {};
  Advice advice{"checkpoint-interval",
                gain > kMuch ? AdviceSeverity::kSevere : AdviceSeverity::kModerate,
                static_cast<int>(facts.view().tasks.size())};
  const bool rare = seen->interval > best;
  advice.sentence = absl::StrCat("Write a checkpoint each ", SecondsText(best), " instead of each ",
                                 SecondsText(seen->interval), ": ",
                                 rare ? "restarts lose more than checkpoints cost"
                                      : "checkpoints cost more than restarts lose");
  advice.evidence = absl::StrCat(seen->count, " checkpoints of ", seen->task.ToString(), ", ",
                                 SecondsText(seen->cost), " for the last one; ", failures,
                                 " failures in ", SecondsText(whole));
  advice.formula =
      "√(2δM) - δ, of the time for a checkpoint (δ) and between failures (M), where that saves "
      "more than 1 % of the run (Young 1974, Daly 2006)";
  advice.cost = absl::StrCat(PercentText(gain), " of the run");
  return {std::move(advice)};
}

}  // namespace tony::core
