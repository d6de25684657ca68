// Prometheus's text format 0.0.4, by hand: a name's lines stand together, below its HELP and TYPE.
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "web/api/prometheus_families.h"
#include "web/api/render.h"

namespace tony::web {
namespace {

using Task = core::JobView::Task;

std::string Label(const std::string& value) {
  return absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}});
}

std::string Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return Json(value).dump();
}

void Head(absl::string_view name, const char* type, const char* help, std::string& text) {
  absl::StrAppend(&text, "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

/// The text is made between two other things that the program does: with more tasks it would take
/// long, and tens of megabytes.
constexpr size_t kMostTasks = 2000;

/// Each task with the labels that all of its samples have; the first kMostTasks.
using LabeledTasks = std::vector<std::pair<std::string, const Task*>>;

LabeledTasks LabelTasks(const core::ObservedJob& job, const std::string& of_job) {
  LabeledTasks tasks;
  for (const Task& task : job.view.tasks) {
    if (tasks.size() == kMostTasks) break;
    tasks.emplace_back(absl::StrCat(of_job, ",task=\"", Label(task.last.task.ToString()),
                                    "\",attempt=\"", task.last.attempt, "\""),
                       &task);
  }
  return tasks;
}

void AppendSample(absl::string_view name, absl::string_view labels, absl::string_view more,
                  double value, std::string& text) {
  absl::StrAppend(&text, name, "{", labels, more.empty() ? "" : ",", more, "} ", Number(value),
                  "\n");
}

void AppendFamily(const PrometheusFamily& family, const LabeledTasks& tasks, std::string& text) {
  std::string lines;
  for (const auto& [labels, task] : tasks) {
    if (!task->usage) continue;
    family.read(*task->usage, [&](absl::string_view more, double value) {
      AppendSample(family.name, labels, more, value, lines);
    });
  }
  if (lines.empty()) return;
  Head(family.name, family.type, family.help, text);
  text += lines;
}

// A program may invent names without end, and each would stay in Prometheus's index. The store
// takes only so many names of a job in its whole life, so its names are the limit here, too.
void AppendReports(const LabeledTasks& tasks, const core::JobMetrics& metrics, std::string& text) {
  std::set<std::string> known;
  for (const std::string& name : metrics.Names()) {
    absl::string_view reported = name;
    if (absl::ConsumePrefix(&reported, core::kReported)) known.emplace(reported);
  }
  constexpr char kName[] = "tony_task_report";
  std::string lines;
  for (const auto& [labels, task] : tasks) {
    if (!task->usage || !task->usage->progress) continue;
    for (const auto& [name, value] : task->usage->progress->values) {
      if (known.count(name) == 0) continue;
      AppendSample(kName, labels, absl::StrCat("name=\"", Label(name), "\""), value, lines);
    }
  }
  if (lines.empty()) return;
  Head(kName, "gauge",
       "The newest value of each name that the program reports; the first 64 names of a job.",
       text);
  text += lines;
}

}  // namespace

// A state is a metric with the value 1 for the one that holds, as is usual for enumerations.
std::string PrometheusText(const core::ObservedJob& job, const core::JobMetrics& metrics) {
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
  const LabeledTasks tasks = LabelTasks(job, of_job);
  Head("tony_job_tasks_left_out", "gauge", "Tasks without samples: those after the first 2,000.",
       text);
  absl::StrAppend(&text, "tony_job_tasks_left_out{", of_job, "} ",
                  job.view.tasks.size() - tasks.size(), "\n");
  if (!tasks.empty()) Head("tony_task_running", "gauge", "1 while the task's program runs.", text);
  for (const auto& [labels, task] : tasks) {
    const bool running = task->last.state == core::TaskState::kRunning;
    absl::StrAppend(&text, "tony_task_running{", labels, "} ", running ? 1 : 0, "\n");
  }
  for (const PrometheusFamily& family : PrometheusFamilies()) AppendFamily(family, tasks, text);
  AppendReports(tasks, metrics, text);
  return text;
}

}  // namespace tony::web
