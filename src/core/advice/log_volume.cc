// Programs that print so much that writing and keeping it costs something, or that parts of their
// logs were dropped. Each executor notes the latter once for a log (logs::SegmentedLog), with the
// limit that was reached.
#include <algorithm>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/advice/heuristics.h"

namespace tony::core {
namespace {

constexpr absl::string_view kReachedLimit = " has reached its limit of ";
constexpr absl::string_view kUnit = " MiB (tony.task.log.max-size";
/// tony.application.log.max-size of a job that does not set it, for all of its logs.
constexpr int64_t kMostMebibytes = int64_t{64} << 10;

/// The limit in MiB that a note speaks of; 0: it speaks of none.
int64_t LimitIn(absl::string_view note) {
  const size_t begin = note.find(kReachedLimit);
  if (begin == absl::string_view::npos) return 0;
  note.remove_prefix(begin + kReachedLimit.size());
  const size_t end = note.find(kUnit);
  int64_t limit = 0;
  if (end == absl::string_view::npos || !absl::SimpleAtoi(note.substr(0, end), &limit)) return 0;
  return std::clamp<int64_t>(limit, 0, kMostMebibytes);
}

/// In bytes per second: Dr. Elephant's limit on event logs, as a rate.
constexpr double kMuch = 1e6;
constexpr double kVeryMuch = 1e7;

// The whole life counts, not its busiest part: a burst, such as a model's summary, is no harm. No
// key makes a program print less, so there is no line for the job file.
void AddMuchPrinted(const JobFacts& facts, std::vector<Advice>& all) {
  if (!facts.long_enough()) return;
  for (const AskedType& type : facts.types()) {
    int tasks = 0;
    double most = 0;
    std::string loudest;
    for (const TaskId& task : facts.TasksOf(type)) {
      const double rate = facts.measured(task) ? facts.Mean(task, "printed").value_or(0) : 0;
      if (rate <= kMuch) continue;
      ++tasks;
      if (rate > most) loudest = task.ToString();
      most = std::max(most, rate);
    }
    if (tasks == 0) continue;
    Advice advice{"log-volume",
                  most > kVeryMuch ? AdviceSeverity::kSevere : AdviceSeverity::kModerate, tasks};
    advice.type = type.name;
    advice.sentence = absl::StrCat("Print less in tasks of type ", type.name,
                                   ": what they print has to be searched for secrets and written");
    advice.evidence =
        absl::StrCat(loudest, " printed ", NumberText(most / kMuch), " MB/s on average; ", tasks,
                     " of ", type.instances, " tasks printed more than 1 MB/s");
    advice.formula =
        "mean of a task's printed bytes > 1 MB/s (as Dr. Elephant's limit on event logs)";
    advice.cost =
        absl::StrCat(NumberText(most * 3600 / 1e9), " GB of logs of ", loudest, " an hour");
    all.push_back(std::move(advice));
  }
}

}  // namespace

std::vector<Advice> AdviseLogVolume(const JobFacts& facts) {
  std::vector<Advice> all;
  AddMuchPrinted(facts, all);
  int logs = 0;
  int64_t limit = 0;
  std::string first;
  for (const std::string& note : facts.view().notes) {
    const int64_t found = LimitIn(note);
    if (found == 0) continue;
    if (logs++ == 0) first = note;
    limit = std::max(limit, found);
  }
  if (logs == 0) return all;
  Advice advice{"log-volume", AdviceSeverity::kModerate, logs};
  advice.sentence = "Print less, or keep more: parts of logs were dropped";
  advice.evidence = absl::StrCat(logs, logs == 1 ? " log was" : " logs were",
                                 " longer than allowed; the first: ", first);
  advice.formula = "parts of a log were dropped (as Dr. Elephant's limit on event logs)";
  const int64_t proposed = 2 * std::max<int64_t>(1, limit);
  if (proposed <= kMostMebibytes) {
    advice.lines = {{"tony.task.log.max-size", absl::StrCat(proposed, "m")}};
  }
  all.push_back(std::move(advice));
  return all;
}

}  // namespace tony::core
