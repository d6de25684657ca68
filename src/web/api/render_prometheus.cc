// Prometheus's text format 0.0.4, by hand: a name's lines stand together, below its HELP and TYPE.
#include <functional>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "web/api/render.h"

namespace tony::web {
namespace {

using Task = core::JobView::Task;

std::string Label(const std::string& value) {
  return absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}});
}

void Head(const std::string& name, const char* type, const char* help, std::string& text) {
  absl::StrAppend(&text, "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

/// One metric of tasks.
struct Metric {
  const char* name;
  const char* type;
  const char* help;
  std::function<double(const core::TaskUsage&)> value;  ///< negative: unknown
};

std::vector<Metric> Metrics() {
  using Usage = core::TaskUsage;
  constexpr double kPercent = 100;
  return {
      {"tony_task_cpu_seconds_total", "counter", "Processor time of the attempt.",
       [](const Usage& usage) { return usage.cpu_seconds; }},
      {"tony_task_memory_bytes", "gauge", "Resident memory.",
       [](const Usage& usage) { return static_cast<double>(usage.memory_bytes); }},
      {"tony_task_memory_peak_bytes", "gauge", "Highest sample of the resident memory.",
       [](const Usage& usage) { return static_cast<double>(usage.max_memory_bytes); }},
      {"tony_task_read_bytes_total", "counter", "Bytes read from storage.",
       [](const Usage& usage) { return static_cast<double>(usage.read_bytes); }},
      {"tony_task_written_bytes_total", "counter", "Bytes written to storage.",
       [](const Usage& usage) { return static_cast<double>(usage.write_bytes); }},
      {"tony_task_processes", "gauge", "Processes.",
       [](const Usage& usage) { return static_cast<double>(usage.processes); }},
      {"tony_task_open_files", "gauge", "Open files, sockets and pipes.",
       [](const Usage& usage) { return static_cast<double>(usage.descriptors); }},
      {"tony_task_gpu_utilization_ratio", "gauge", "Mean of the task's GPUs.",
       [](const Usage& usage) {
         return usage.gpu_utilization < 0 ? -1 : usage.gpu_utilization / kPercent;
       }},
      {"tony_task_gpu_memory_bytes", "gauge", "Sum of the task's GPUs.",
       [](const Usage& usage) { return static_cast<double>(usage.gpu_memory_bytes); }},
      {"tony_task_sent_bytes_total", "counter", "Bytes sent over TCP sockets.",
       [](const Usage& usage) { return static_cast<double>(usage.network.sent_bytes); }},
      {"tony_task_received_bytes_total", "counter", "Bytes received over TCP sockets.",
       [](const Usage& usage) { return static_cast<double>(usage.network.received_bytes); }},
      {"tony_task_step", "gauge", "The newest step that the program has named.",
       [](const Usage& usage) {
         return usage.progress ? static_cast<double>(usage.progress->step) : -1;
       }},
  };
}

}  // namespace

// A state is a metric with the value 1 for the one that holds, as is usual for enumerations.
std::string PrometheusText(const core::ObservedJob& job) {
  const std::string of_job = absl::StrCat("job=\"", Label(job.view.job.job_id), "\"");
  std::string text;
  Head("tony_job_state", "gauge", "1 for the state that the job is in.", text);
  for (const char* state : {"NEW", "ALLOCATING", "REGISTERING", "RUNNING", "RESTARTING", "STOPPING",
                            "SUCCEEDED", "FAILED", "KILLED"}) {
    absl::StrAppend(&text, "tony_job_state{", of_job, ",state=\"", state, "\"} ",
                    job.StateName() == state ? 1 : 0, "\n");
  }
  Head("tony_job_restarts_total", "counter", "Restarts of the whole job.", text);
  absl::StrAppend(&text, "tony_job_restarts_total{", of_job, "} ", job.view.epoch, "\n");
  Head("tony_task_running", "gauge", "1 while the task's program runs.", text);
  for (const Task& task : job.view.tasks) {
    absl::StrAppend(&text, "tony_task_running{", of_job, ",task=\"",
                    Label(task.last.task.ToString()), "\",attempt=\"", task.last.attempt, "\"} ",
                    task.last.state == core::TaskState::kRunning ? 1 : 0, "\n");
  }
  for (const Metric& metric : Metrics()) {
    std::string lines;
    for (const Task& task : job.view.tasks) {
      const double value = task.usage ? metric.value(*task.usage) : -1;
      if (value < 0) continue;
      absl::StrAppend(&lines, metric.name, "{", of_job, ",task=\"",
                      Label(task.last.task.ToString()), "\",attempt=\"", task.last.attempt, "\"} ",
                      Json(value).dump(), "\n");
    }
    if (lines.empty()) continue;
    Head(metric.name, metric.type, metric.help, text);
    text += lines;
  }
  return text;
}

}  // namespace tony::web
