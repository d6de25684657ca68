// Text and JSON are rendered from the same rows and previews, so they cannot disagree.
#include "client/submit/dry_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"
#include "client/jobs/job_json.h"
#include "client/show/task_order.h"
#include "client/submit/task_preview.h"
#include "core/model/master_task.h"

namespace tony::client {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxTasks = 100;

/// One line of the table of containers.
struct ContainerRow {
  std::string type;
  int64_t count = 0;
  int64_t memory_mb = 0, vcores = 0, gpus = 0;  // of each container
};

std::vector<ContainerRow> Containers(const core::JobDescription& job) {
  std::vector<ContainerRow> rows;
  for (const core::TaskType& type : job.types) {
    if (type.instances == 0) continue;
    const core::Resources& each = type.resources;
    rows.push_back({type.name, type.instances, each.memory_mb, each.vcores, each.gpus});
  }
  return rows;
}

ContainerRow Total(const std::vector<ContainerRow>& rows) {
  ContainerRow total{"total"};
  for (const ContainerRow& row : rows) {
    total.count += row.count;
    total.memory_mb += row.count * row.memory_mb;
    total.vcores += row.count * row.vcores;
    total.gpus += row.count * row.gpus;
  }
  return total;
}

std::string RenderConfiguration(const jobfile::Configuration& configuration) {
  std::string text = "Configuration:\n";
  for (const jobfile::Entry& entry : configuration.entries()) {
    absl::StrAppend(&text,
                    SafeText(absl::StrCat("  ", entry.key, " = ", entry.ShownValue(), "  (",
                                          entry.OriginText(), ")")),
                    "\n");
  }
  return text;
}

std::string RenderContainers(const core::JobDescription& job) {
  std::vector<ContainerRow> rows = Containers(job);
  rows.push_back(Total(rows));
  int width = 4;
  for (const ContainerRow& row : rows) width = std::max(width, DisplayWidth(row.type));
  const auto line = [&](const std::string& type, const std::string& count,
                        const std::string& memory, const std::string& vcores,
                        const std::string& gpus) {
    return absl::StrCat("  ", PadToWidth(type, width), "  ", PadToWidth(count, 5), "  ",
                        PadToWidth(memory, 10), "  ", PadToWidth(vcores, 6), "  ", gpus, "\n");
  };
  std::string text =
      absl::StrCat("Containers:\n", line("TYPE", "COUNT", "MEMORY", "VCORES", "GPUS"));
  for (const ContainerRow& row : rows) {
    text += line(row.type, absl::StrCat(row.count), absl::StrCat(row.memory_mb, " MiB"),
                 absl::StrCat(row.vcores), absl::StrCat(row.gpus));
  }
  return text;
}

/// Renders the variables of `task`: all of them, or only those that differ from the variables of
/// `like`.
std::string RenderTask(const TaskPreview& task, const TaskPreview* like) {
  std::string text = absl::StrCat("Task ", task.task.ToString());
  if (like == nullptr) {
    absl::StrAppend(&text, ": ", SafeText(task.command), "\n");
  } else {
    absl::StrAppend(&text, ", like ", like->task.ToString(), " but with\n");
  }
  for (const auto& [name, value] : task.environment) {
    if (like != nullptr) {
      auto same = like->environment.find(name);
      if (same != like->environment.end() && same->second == value) continue;
    }
    absl::StrAppend(&text, "  ", SafeText(absl::StrCat(name, "=", value)), "\n");
  }
  // A variable that only `like` has is named as well; otherwise the task would seem to have it.
  if (like == nullptr) return text;
  for (const auto& [name, value] : like->environment) {
    if (task.environment.count(name) == 0)
      absl::StrAppend(&text, "  without ", SafeText(name), "\n");
  }
  return text;
}

std::string RenderTasks(const core::JobDescription& job) {
  const std::vector<TaskPreview> tasks = PreviewTasks(job, kMaxTasks);
  std::string text;
  const TaskPreview* first = nullptr;
  for (const TaskPreview& task : tasks) {
    if (first == nullptr || first->task.type != task.task.type) {
      first = &task;
      text += RenderTask(task, nullptr);
    } else {
      text += RenderTask(task, first);
    }
  }
  const int64_t left = Total(Containers(job)).count - static_cast<int64_t>(tasks.size());
  if (left > 0) absl::StrAppend(&text, "and ", left, " more tasks\n");
  return text;
}

Json ToJson(const ContainerRow& row) {
  return {{"type", row.type},
          {"count", row.count},
          {"memory_mb", row.memory_mb},
          {"vcores", row.vcores},
          {"gpus", row.gpus}};
}

}  // namespace

std::string RenderDryRun(const jobfile::LoadedJob& loaded) {
  const core::JobDescription job = core::WithMasterTask(loaded.result.job);
  const jobfile::Packaging& packaging = loaded.result.packaging;
  std::string text =
      SafeText(absl::StrCat("Job ", job.name, " (", core::FrameworkName(job.framework),
                            "), not started: dry run")) +
      "\n\n" + RenderConfiguration(loaded.configuration) + "\n" + RenderContainers(job) + "\n";
  if (const std::string order = RenderOrder(job); !order.empty()) text += order + "\n";
  if (!packaging.src_dir.empty())
    absl::StrAppend(&text, "Program: ", SafeText(packaging.src_dir), "\n");
  if (!packaging.python_venv.empty()) {
    absl::StrAppend(&text, "Virtual environment: ", SafeText(packaging.python_venv), " as venv/\n");
  }
  for (const core::TaskType& type : job.types) {
    for (const core::ResourceEntry& file : type.files) {
      absl::StrAppend(&text, "File for ", type.name, ": ", SafeText(file.source), " as ",
                      SafeText(file.local_name), file.archive ? "/ (unpacked)" : "", "\n");
    }
  }
  return absl::StrCat(text, RenderTasks(job));
}

std::string RenderDryRunJson(const jobfile::LoadedJob& loaded) {
  const core::JobDescription job = core::WithMasterTask(loaded.result.job);
  Json json;
  json["name"] = job.name;
  json["framework"] = core::FrameworkName(job.framework);
  json["configuration"] = Json::object();
  for (const jobfile::Entry& entry : loaded.configuration.entries()) {
    json["configuration"][entry.key] = {{"value", entry.ShownValue()},
                                        {"origin", entry.OriginText()}};
  }
  json["src_dir"] = loaded.result.packaging.src_dir;
  json["python_venv"] = loaded.result.packaging.python_venv;
  const std::vector<ContainerRow> rows = Containers(job);
  json["containers"] = Json::array();
  for (const ContainerRow& row : rows) json["containers"].push_back(ToJson(row));
  const ContainerRow total = Total(rows);
  json["total"] = ToJson(total);
  json["total"].erase("type");
  AddOrder(job, json);
  json["tasks"] = Json::array();
  for (const TaskPreview& task : PreviewTasks(job, kMaxTasks)) {
    json["tasks"].push_back({{"task", task.task.ToString()},
                             {"command", task.command},
                             {"environment", task.environment}});
  }
  json["tasks_left_out"] = total.count - static_cast<int64_t>(json["tasks"].size());
  return DumpJson(json);
}

}  // namespace tony::client
