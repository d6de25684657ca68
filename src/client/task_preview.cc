// Renders environments with placeholders.
#include "client/task_preview.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "core/runtime/visualization.h"
#include "core/schedule/stage_graph.h"

namespace tony::client {
namespace {

// No port has this number, so the word PORT can take its place in what was rendered.
constexpr int kNoPort = 99999;

/// What a task finds that starts with `stage`.
core::ClusterSpec SeenBy(const core::Stage& stage, const core::ClusterSpec& all) {
  core::ClusterSpec seen;
  for (const core::Endpoint& endpoint : all.endpoints) {
    const auto& types = stage.together;
    if (std::find(types.begin(), types.end(), endpoint.task.type) != types.end()) {
      seen.endpoints.push_back(endpoint);
    }
  }
  return seen;
}

core::ClusterSpec PreviewCluster(const core::JobDescription& job) {
  core::ClusterSpec cluster;
  int next_gpu = 0;
  for (const core::TaskType& type : job.types) {
    for (int index = 0; index < type.instances; ++index) {
      std::vector<std::string> devices;
      for (int gpu = 0; gpu < type.resources.gpus; ++gpu)
        devices.push_back(absl::StrCat("GPU", next_gpu++));
      core::Endpoint endpoint;
      endpoint.task = {type.name, index};
      endpoint.host = endpoint.host_id = "HOST";
      endpoint.port = kNoPort;
      endpoint.devices = absl::StrJoin(devices, ",");
      endpoint.sidecar = type.tracking == core::Tracking::kSidecar;
      cluster.endpoints.push_back(std::move(endpoint));
    }
  }
  return cluster;
}

/// As the executor merges them: the containers' variables, what tony renders, the user's own.
core::Environment Merge(const core::JobDescription& job, const core::TaskType& type,
                        const core::TaskContext& context) {
  core::Environment environment = job.container_env;
  for (auto& [name, value] : core::RenderEnvironment(context)) {
    environment[name] = absl::StrReplaceAll(value, {{absl::StrCat(kNoPort), "PORT"}});
  }
  for (const core::Environment& users : {job.execution_env, type.env}) {
    for (const auto& [name, value] : users) {
      if (name != "TONY_CONTAINER_ID") environment[name] = value;
    }
  }
  return environment;
}

}  // namespace

std::vector<TaskPreview> PreviewTasks(const core::JobDescription& job, size_t limit) {
  core::TaskContext context;
  context.framework = job.framework;
  context.job_id = "JOB_ID";
  context.container_id = "CONTAINER_ID";
  context.checkpoint_folder = job.checkpoint_dir.empty() ? "CHECKPOINT_DIR" : job.checkpoint_dir;
  const core::ClusterSpec cluster = PreviewCluster(job);
  const core::StageGraph stages(job.types);
  for (const core::TaskType& type : job.types) {
    if (type.tracking == core::Tracking::kTracked) context.tracked_tasks += type.instances;
  }
  const std::optional<core::TaskId> visualization = core::VisualizationTask(job);
  std::vector<TaskPreview> previews;
  for (const core::Endpoint& endpoint : cluster.endpoints) {
    if (previews.size() == limit) break;
    if (endpoint.task.index == 0) {
      context.cluster = SeenBy(stages.stages()[stages.StageOf(endpoint.task.type)], cluster);
    }
    context.task = endpoint.task;
    context.chief = core::IsChief(endpoint.task, job.FindType("chief") != nullptr);
    context.visualization_port = visualization == endpoint.task ? kNoPort : 0;
    context.gpus = endpoint.devices;
    previews.push_back({endpoint.task, Merge(job, *job.FindType(endpoint.task.type), context)});
  }
  return previews;
}

}  // namespace tony::client
