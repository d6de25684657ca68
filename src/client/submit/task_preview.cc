// Builds a cluster spec with placeholders and renders it with the same code as the executor, so the
// preview cannot drift from what tasks really get.
#include "client/submit/task_preview.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "core/model/master_task.h"
#include "core/rendezvous/worker_hosts.h"
#include "core/runtime/collective.h"
#include "core/runtime/visualization.h"
#include "core/schedule/stage_graph.h"

namespace tony::client {
namespace {

// No real port has this number, so the word PORT can replace it in the rendered text.
constexpr int kNoPort = 99999;

/// The endpoints that a task sees which starts with `stage`.
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

/// Places the task as tony's own driver would, with all tasks on the driver's machine.
std::optional<core::HorovodSlot> PreviewSlot(const core::JobDescription& job,
                                             const core::TaskContext& context) {
  if (job.framework != core::Framework::kHorovod || !core::IsRanked(context.task.type)) {
    return std::nullopt;
  }
  const std::vector<core::WorkerHost> hosts = core::WorkerHostsOf(context.cluster);
  std::vector<core::HostSlots> slots;
  int processes = 0;
  for (const core::WorkerHost& host : hosts) {
    slots.push_back({host.name, static_cast<int>(host.tasks.size())});
    processes += slots.back().slots;
  }
  const auto plan = core::PlanSlots(slots, processes);
  if (!plan.ok()) return std::nullopt;
  const auto slot = core::SlotOf({kNoPort, true, *plan}, hosts, context.task);
  if (!slot.ok()) return std::nullopt;
  const std::string& interfaces = job.horovod.network_interfaces;
  core::HorovodSlot place;
  place.slot = *slot;
  place.address = job.horovod.own_driver ? "HOST" : "127.0.0.1";
  place.port = kNoPort;
  place.elastic = job.horovod.elastic.has_value();
  place.interfaces = interfaces.empty() ? "INTERFACE" : interfaces;
  return place;
}

/// Merges variables in the executor's order: the containers' variables, then what tony renders,
/// then the user's own.
core::Environment Merge(const core::JobDescription& job, const core::TaskType& type,
                        const core::TaskContext& context) {
  core::Environment environment = job.container_env;
  for (auto& [name, value] : core::RenderEnvironment(context)) {
    environment[name] = absl::StrReplaceAll(value, {{absl::StrCat(kNoPort), "PORT"}});
  }
  if (context.horovod) {
    for (const auto& [name, value] : job.horovod.variables) environment[name] = value;
  }
  core::SetCollectiveKey(job, "SECRET", environment);
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
  context.mode = job.mode;
  context.job_id = "JOB_ID";
  context.container_id = "CONTAINER_ID";
  context.checkpoint_folder = job.checkpoint_dir.empty() ? "CHECKPOINT_DIR" : job.checkpoint_dir;
  const core::ClusterSpec cluster = PreviewCluster(job);
  const core::StageGraph stages(job.types);
  context.tracked_tasks = core::CountTrackedTasks(job);
  const std::optional<core::TaskId> visualization = core::VisualizationTask(job);
  std::vector<TaskPreview> previews;
  for (const core::Endpoint& endpoint : cluster.endpoints) {
    if (previews.size() == limit) break;
    // All tasks of a type see the same tasks, so the cluster is cut once for each type.
    if (endpoint.task.index == 0) {
      context.cluster = SeenBy(stages.stages()[stages.StageOf(endpoint.task.type)], cluster);
    }
    context.task = endpoint.task;
    context.chief = core::IsChief(endpoint.task, job.FindType("chief") != nullptr);
    context.visualization_port = visualization == endpoint.task ? kNoPort : 0;
    context.gpus = endpoint.devices;
    context.horovod = PreviewSlot(job, context);
    const core::TaskType& type = *job.FindType(endpoint.task.type);
    const bool driver = type.name == core::kDriverType && type.command.empty();
    previews.push_back(
        {endpoint.task, driver ? "tony-driver" : type.command, Merge(job, type, context)});
  }
  return previews;
}

}  // namespace tony::client
