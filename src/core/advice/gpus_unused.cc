// GPUs that were asked for and never worked: usually a program without GPU support.
#include "absl/strings/str_cat.h"
#include "core/advice/heuristics.h"

namespace tony::core {
namespace {

constexpr double kIdlePercent = 5;
/// What a driver's own bookkeeping may add.
constexpr double kFlatBytes = 64 << 20;

bool NeverWorked(const JobFacts& facts, const TaskId& task) {
  const std::optional<double> busy = facts.Peak(task, "gpu");
  const std::optional<double> most = facts.Peak(task, "gpu_memory");
  const std::optional<double> least = facts.Quantile(task, "gpu_memory", 0);
  if (!facts.measured(task) || !busy || !most || !least) return false;
  return *busy < kIdlePercent && *most - *least < kFlatBytes;
}

}  // namespace

std::vector<Advice> AdviseGpusUnused(const JobFacts& facts) {
  std::vector<Advice> all;
  if (!facts.long_enough()) return all;
  for (const AskedType& type : facts.types()) {
    if (type.gpus == 0) continue;
    int idle = 0;
    for (const TaskId& task : facts.TasksOf(type)) idle += NeverWorked(facts, task) ? 1 : 0;
    if (idle == 0) continue;
    const bool each = idle == type.instances;
    Advice advice{"gpus-unused", AdviceSeverity::kCritical, idle};
    advice.type = type.name;
    advice.sentence = each ? absl::StrCat("Ask for no GPUs for type ", type.name,
                                          ", or find out why its program does not use them")
                           : absl::StrCat("Find out why ", idle, " of ", type.instances,
                                          " tasks of type ", type.name, " do not use their GPUs");
    advice.evidence = absl::StrCat(idle, " of ", type.instances,
                                   " tasks: utilization below 5 % all the time, memory of the GPUs "
                                   "unchanged");
    advice.formula =
        "highest utilization < 5 %, and GPU memory grows by less than 64 MiB "
        "(as Dr. Elephant's rule for GPUs)";
    advice.cost = absl::StrCat(idle * type.gpus, " GPUs that no other job can use");
    if (each) advice.lines = {{absl::StrCat("tony.", type.name, ".gpus"), "0"}};
    all.push_back(std::move(advice));
  }
  return all;
}

}  // namespace tony::core
