// Tasks that wait for their input: GPUs, or processors where there are no GPUs, have little to do
// while reading or preparing data is at its limit.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/advice/heuristics.h"

namespace tony::core {
namespace {

constexpr double kGpuBusyPercent = 60;
constexpr double kGpuIdlePercent = 30;
constexpr double kLittleExchange = 0.15;
constexpr double kMuchIoWait = 0.2;
/// Storage is at its limit when it gives data as fast as it ever did nearly all the time.
constexpr double kNearMost = 0.6;
constexpr double kLeastRead = 5e6;  ///< bytes a second; less is no load

struct Finding {
  int tasks = 0;
  double use = 1e9;       ///< the least busy one's mean: percent of GPUs, or share of cores
  bool by_cores = false;  ///< preparing data takes all cores
};

double ExchangeShare(const JobFacts& facts, const TaskId& task) {
  return facts.Mean(task, "exchanging").value_or(0) + facts.Mean(task, "negotiating").value_or(0);
}

bool StorageAtItsLimit(const JobFacts& facts, const TaskId& task, int64_t from) {
  if (facts.Mean(task, "io_wait", from).value_or(0) > kMuchIoWait) return true;
  const double mean = facts.Mean(task, "read", from).value_or(0);
  return mean >= kLeastRead && mean >= kNearMost * facts.Peak(task, "read").value_or(0);
}

Finding Look(const JobFacts& facts, const AskedType& type) {
  Finding finding;
  const int cores = std::max(1, type.vcores);
  for (const TaskId& task : facts.TasksOf(type)) {
    if (!facts.measured(task) || ExchangeShare(facts, task) >= kLittleExchange) continue;
    const int64_t from = facts.FirstStepMillis(task);
    const bool cores_full = facts.Quantile(task, "cpu", 0.5).value_or(0) >= 0.9 * cores;
    const bool storage_full = StorageAtItsLimit(facts, task, from);
    if (type.gpus > 0) {
      const std::optional<double> gpu = facts.Mean(task, "gpu", from);
      if (!gpu || *gpu >= kGpuBusyPercent || (!cores_full && !storage_full)) continue;
      finding.use = std::min(finding.use, *gpu);
      finding.by_cores |= cores_full;
    } else {
      const std::optional<double> used = facts.Mean(task, "cpu", from);
      if (!used || *used >= 0.5 * cores || !storage_full) continue;
      finding.use = std::min(finding.use, 100 * *used / cores);
    }
    ++finding.tasks;
  }
  return finding;
}

}  // namespace

std::vector<Advice> AdviseInputBound(const JobFacts& facts) {
  std::vector<Advice> all;
  if (!facts.long_enough()) return all;
  for (const AskedType& type : facts.types()) {
    const Finding finding = Look(facts, type);
    if (finding.tasks == 0) continue;
    const bool gpus = type.gpus > 0;
    Advice advice{
        "input-bound",
        finding.use < kGpuIdlePercent ? AdviceSeverity::kSevere : AdviceSeverity::kModerate,
        finding.tasks};
    advice.type = type.name;
    advice.sentence = absl::StrCat(
        "Give the input of type ", type.name, " more ",
        finding.by_cores ? "cores, and prepare batches in more processes or threads"
                         : "throughput: read ahead, cache, or store the data closer or compressed");
    advice.evidence = absl::StrCat(
        finding.tasks, " of ", type.instances, " tasks wait for data: ", gpus ? "GPUs" : "cores",
        " are used to ", NumberText(finding.use), " % while ",
        finding.by_cores ? "all cores are busy" : "storage gives data as fast as it can");
    advice.formula =
        "GPUs (or cores) below 60 (50) % after the first step, cores or storage at "
        "their limit, collective below 15 % (TensorFlow Profiler's input-bound rule)";
    if (finding.by_cores) {
      advice.lines = {{absl::StrCat("tony.", type.name, ".vcores"),
                       absl::StrCat(2 * std::max(1, type.vcores))}};
    }
    all.push_back(std::move(advice));
  }
  return all;
}

}  // namespace tony::core
