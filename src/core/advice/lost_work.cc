// Steps that were made twice because a restart began from an old checkpoint. The steps themselves
// tell: behind a restart they go on from a smaller number.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/advice/heuristics.h"
#include "core/record/duration_text.h"

namespace tony::core {
namespace {

constexpr double kMuch = 0.05;
constexpr double kVeryMuch = 0.15;
constexpr int kPoints = 256;

/// The steps that a task repeated, and its pace.
struct Repeated {
  double steps = 0;
  int restarts = 0;
  double steps_per_second = 0;
};

/// The first value behind a restart. A point that began before the restart is left out, since it
/// may also hold values from before; so the steps that were made again are rather counted too low.
float FirstBehind(const MetricSeries& steps, int64_t restart_millis) {
  const MetricPoints read = steps.Read(restart_millis, steps.last_millis() + 1, kPoints);
  for (size_t i = 0; i < read.points.size(); ++i) {
    const int64_t point = read.begin_millis + static_cast<int64_t>(i) * read.step_millis;
    if (point >= restart_millis && !read.points[i].empty()) return read.points[i].min;
  }
  return -1;
}

Repeated RepeatedSteps(const JobFacts& facts, const TaskId& task) {
  Repeated repeated;
  const MetricSeries* steps = facts.metrics.Find(task, "step");
  if (steps == nullptr || steps->empty()) return repeated;
  int64_t begin = steps->begin_millis();
  for (const JobView::Attempt& attempt : facts.view().attempts) {
    const auto highest = [](const MetricPoints& points) {
      float most = -1;
      for (const MetricBucket& point : points.points) {
        if (!point.empty()) most = std::max(most, point.max);
      }
      return most;
    };
    const float before = highest(steps->Read(begin, attempt.ended_millis, kPoints));
    const float after = FirstBehind(*steps, attempt.ended_millis);
    begin = attempt.ended_millis;
    if (before < 0 || after < 0 || after >= before) continue;
    repeated.steps += before - after;
    ++repeated.restarts;
  }
  repeated.steps_per_second = facts.Mean(task, "steps").value_or(0);
  return repeated;
}

}  // namespace

std::vector<Advice> AdviseLostWork(const JobFacts& facts) {
  const int64_t whole = facts.end_millis() - facts.view().submitted_millis;
  if (facts.view().attempts.empty() || whole < facts.gate.least_run_millis) return {};
  Repeated worst;
  double seconds = 0;
  TaskId guilty;
  for (const AskedType& type : facts.types()) {
    for (const TaskId& task : facts.TasksOf(type)) {
      const Repeated repeated = RepeatedSteps(facts, task);
      if (repeated.steps_per_second <= 0) continue;
      const double lost = repeated.steps / repeated.steps_per_second;
      if (lost <= seconds) continue;
      seconds = lost;
      worst = repeated;
      guilty = task;
    }
  }
  const double share = 1000 * seconds / static_cast<double>(whole);
  if (share <= kMuch) return {};
  Advice advice{"lost-work",
                share > kVeryMuch ? AdviceSeverity::kSevere : AdviceSeverity::kModerate,
                static_cast<int>(facts.view().tasks.size())};
  const double interval = 2 * seconds / worst.restarts;
  advice.sentence = absl::StrCat("Write checkpoints more often than each ",
                                 FormatDuration(static_cast<int64_t>(1000 * interval)),
                                 ": after restarts steps were made again");
  advice.evidence = absl::StrCat(NumberText(worst.steps), " steps of ", guilty.ToString(),
                                 " were made twice after ", worst.restarts,
                                 worst.restarts == 1 ? " restart: " : " restarts: ",
                                 FormatDuration(static_cast<int64_t>(1000 * seconds)), ", ",
                                 PercentText(share), " of the whole time");
  advice.formula =
      "time of repeated steps / whole time > 5 % (the rework of Young's and Daly's "
      "models of checkpointing)";
  advice.cost = FormatDuration(static_cast<int64_t>(1000 * seconds));
  return {std::move(advice)};
}

}  // namespace tony::core
