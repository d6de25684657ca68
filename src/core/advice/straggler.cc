// Tasks that are slower than their peers for most of the time. In synchronous training all ranks
// make steps at one pace, so there the time counts for which the others wait for a rank.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/advice/heuristics.h"
#include "core/tasks/task_names.h"

namespace tony::core {
namespace {

constexpr int kWindows = 20;
constexpr size_t kLeastWindows = 5;
constexpr double kSlow = 0.75;  ///< of the fastest's pace: 1.33 times its step time
constexpr double kVerySlow = 0.5;
constexpr double kMostWindows = 0.8;
constexpr double kWaitedFor = 0.1;  ///< share of the time after the first step

struct Slow {
  TaskId id;
  double pace = 1;        ///< share of the fastest's
  double waited_for = 0;  ///< share of the time after the first step
};

/// The paces of tasks in common windows of time.
struct Windows {
  std::vector<TaskId> tasks;
  std::vector<MetricPoints> paces;
};

Windows WindowsOf(const JobFacts& facts, const AskedType& type) {
  Windows windows;
  int64_t from = 0;
  int64_t to = INT64_MAX;
  for (const TaskId& task : facts.TasksOf(type)) {
    const MetricSeries* series = facts.metrics.Find(task, "steps");
    if (series == nullptr || series->empty() || !facts.measured(task)) continue;
    from = std::max(from, series->begin_millis());
    to = std::min(to, series->last_millis() + 1);
    windows.tasks.push_back(task);
  }
  for (const TaskId& task : windows.tasks) {
    windows.paces.push_back(facts.metrics.Find(task, "steps")->Read(from, to, kWindows));
  }
  return windows;
}

/// Tasks whose pace is below kSlow of the fastest's in most windows.
std::vector<Slow> SlowByPace(const Windows& windows) {
  std::vector<Slow> slow;
  const size_t tasks = windows.tasks.size();
  if (tasks < 2) return slow;
  size_t length = SIZE_MAX;
  for (const MetricPoints& pace : windows.paces) length = std::min(length, pace.points.size());
  std::vector<size_t> below(tasks);
  std::vector<double> sum(tasks);
  size_t counted = 0;
  for (size_t i = 0; i < length; ++i) {
    float fastest = 0;
    for (const MetricPoints& pace : windows.paces) {
      if (!pace.points[i].empty()) fastest = std::max(fastest, pace.points[i].mean);
    }
    if (fastest <= 0) continue;
    ++counted;
    for (size_t task = 0; task < tasks; ++task) {
      const MetricBucket& point = windows.paces[task].points[i];
      const double share = point.empty() ? 1 : point.mean / fastest;
      below[task] += share <= kSlow ? 1 : 0;
      sum[task] += share;
    }
  }
  if (counted < kLeastWindows) return slow;
  for (size_t task = 0; task < tasks; ++task) {
    if (static_cast<double>(below[task]) < kMostWindows * static_cast<double>(counted)) continue;
    slow.push_back({windows.tasks[task], sum[task] / static_cast<double>(counted), 0});
  }
  return slow;
}

std::vector<Slow> SlowByWaiting(const JobFacts& facts, const AskedType& type) {
  std::vector<Slow> slow;
  for (const TaskId& task : facts.TasksOf(type)) {
    const double waited_for =
        facts.Mean(task, "waited_for", facts.FirstStepMillis(task)).value_or(0);
    if (facts.measured(task) && waited_for >= kWaitedFor) slow.push_back({task, 1, waited_for});
  }
  return slow;
}

/// The hosts on which slow tasks run, and how many of them each has.
std::string HostsOf(const JobFacts& facts, const std::vector<Slow>& slow) {
  std::map<std::string, int> hosts;
  for (const Slow& each : slow) {
    const JobView::Task* task = facts.view().FindTask(each.id);
    if (task != nullptr && !task->last.host.empty()) ++hosts[task->last.host];
  }
  std::vector<std::string> texts;
  for (const auto& [host, count] : hosts) {
    if (texts.size() < kMostTaskNames) texts.push_back(absl::StrCat(host, " (", count, ")"));
  }
  return absl::StrJoin(texts, ", ");
}

Advice AdviceOn(const JobFacts& facts, const AskedType& type, const std::vector<Slow>& slow) {
  double pace = 1;
  double waited_for = 0;
  for (const Slow& each : slow) {
    pace = std::min(pace, each.pace);
    waited_for = std::max(waited_for, each.waited_for);
  }
  const std::vector<std::string> names = TaskNames(slow, [](const Slow&) { return true; });
  const std::string hosts = HostsOf(facts, slow);
  Advice advice{"straggler",
                pace <= kVerySlow || waited_for > 3 * kWaitedFor ? AdviceSeverity::kSevere
                                                                 : AdviceSeverity::kModerate,
                static_cast<int>(slow.size())};
  advice.type = type.name;
  advice.sentence =
      absl::StrCat("Look at ", absl::StrJoin(names, ", "), hosts.empty() ? "" : " on ", hosts,
                   ": the other tasks of type ", type.name, " are faster, or wait for ",
                   slow.size() == 1 ? "it" : "them");
  advice.evidence = waited_for > 0 ? absl::StrCat("the others waited for a rank of these ",
                                                  PercentText(waited_for), " of the time")
                                   : absl::StrCat("the slowest made steps at ", PercentText(pace),
                                                  " of the fastest's pace");
  advice.formula =
      "pace <= 75 % of the fastest's in 80 % of 20 windows, or waited for >= 10 % of "
      "the time after the first step (NVIDIA Resiliency Extension: score = best / own)";
  advice.cost = waited_for > 0 ? absl::StrCat(PercentText(waited_for), " of the run") : "";
  return advice;
}

}  // namespace

std::vector<Advice> AdviseStraggler(const JobFacts& facts) {
  std::vector<Advice> all;
  if (!facts.long_enough()) return all;
  for (const AskedType& type : facts.types()) {
    std::vector<Slow> slow = SlowByPace(WindowsOf(facts, type));
    if (slow.empty()) slow = SlowByWaiting(facts, type);
    // When most tasks are slow, the fast ones are the exception.
    if (slow.empty() || 2 * slow.size() > static_cast<size_t>(type.instances)) continue;
    all.push_back(AdviceOn(facts, type, slow));
  }
  return all;
}

}  // namespace tony::core
