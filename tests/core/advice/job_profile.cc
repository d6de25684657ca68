#include "tests/core/advice/job_profile.h"

#include <map>

namespace tony::core {
namespace {

/// Adds the counters of `growth` to `total`; everything else is taken over.
void Grow(const TaskUsage& growth, TaskUsage& total) {
  TaskUsage grown = growth;
  grown.cpu_seconds += total.cpu_seconds;
  grown.read_bytes += total.read_bytes;
  const auto add = [](auto& counter, auto before) {
    if (counter >= 0) counter += before < 0 ? 0 : before;
  };
  add(grown.printed_bytes, total.printed_bytes);
  add(grown.group.periods, total.group.periods);
  add(grown.group.throttled_periods, total.group.throttled_periods);
  add(grown.group.cpu_wait_seconds, total.group.cpu_wait_seconds);
  add(grown.group.io_wait_seconds, total.group.io_wait_seconds);
  if (grown.collective && total.collective) {
    grown.collective->operation_seconds += total.collective->operation_seconds;
    grown.collective->negotiation_seconds += total.collective->negotiation_seconds;
    grown.collective->waited_for_seconds += total.collective->waited_for_seconds;
  }
  total = grown;
}

}  // namespace

void JobProfile::AddType(const std::string& name, int instances, int64_t memory_mb, int vcores,
                         int gpus) {
  observed.view.job.types.push_back({name, instances, true, memory_mb, vcores, gpus});
  for (int i = 0; i < instances; ++i) {
    JobView::Task task;
    task.last.task = {name, i};
    task.last.state = TaskState::kRunning;
    task.last.host = "host" + std::to_string(i / 2);
    observed.view.tasks.push_back(task);
  }
}

JobAdvice JobProfile::Advise(AdviceGate gate) const {
  ObservedJob ended = observed;
  JobView& view = ended.view;
  view.submitted_millis = kSubmitted;
  const int64_t began = kSubmitted + start_seconds * 1000;
  const int64_t end = began + seconds * 1000;
  view.attempt_began_millis = began;
  JobMetrics::Options options;
  for (const AskedType& type : observed.view.job.types)
    options.types.push_back({type.name, type.instances});
  JobMetrics metrics(options);
  for (JobView::Task& task : view.tasks) {
    TaskUsage total;
    for (int64_t second = 0; second < seconds; ++second) {
      TaskUsage growth;
      growth.memory_bytes = 1;
      use(task.last.task, second, growth);
      growth.seconds = static_cast<double>(second);
      Grow(growth, total);
      metrics.Take(task.last.task, 1, total, began + second * 1000);
    }
    task.usage = total;
  }
  return AdviseJob(JobFacts(ended, metrics, end, gate));
}

}  // namespace tony::core
