// General variables first, then the framework's, then the user's, so that later ones override
// earlier ones.
#include "core/runtime/runtime.h"

#include "core/runtime/framework_variables.h"

namespace tony::core {
namespace {

/// Sets TonY's general variables and tony's own. JOB_ID and appid have the same value, as in TonY.
void RenderGeneral(const TaskContext& context, Environment& environment) {
  environment["JOB_NAME"] = context.task.type;
  environment["TASK_INDEX"] = std::to_string(context.task.index);
  environment["TASK_NUM"] = std::to_string(context.tracked_tasks);
  environment["JOB_ID"] = context.job_id;
  environment["appid"] = context.job_id;
  environment["SESSION_ID"] = std::to_string(context.epoch);
  environment["ATTEMPT_NUMBER"] = "0";
  environment["NUM_AM_RETRIES"] = std::to_string(context.epoch);
  environment["DISTRIBUTED_MODE"] = DistributedModeName(context.mode);
  if (context.chief) environment["IS_CHIEF"] = "true";
  environment["TONY_CONTAINER_ID"] = context.container_id;
  environment["TONY_EPOCH"] = std::to_string(context.epoch);
  environment["TONY_ATTEMPT"] = std::to_string(context.attempt);
  environment["TONY_CHECKPOINT_DIR"] = context.checkpoint_folder;
  // A program without GPUs must not use those of another job. The empty list hides all of them.
  environment["CUDA_VISIBLE_DEVICES"] = context.gpus;
  if (context.visualization_port != 0) {
    environment["TB_PORT"] = std::to_string(context.visualization_port);
    environment["TB_SERVER_REUSE_PORT"] = "true";
  }
}

}  // namespace

Environment RenderEnvironment(const TaskContext& context) {
  Environment environment;
  RenderGeneral(context, environment);
  AddFrameworkVariables(context, environment);
  for (const auto& [name, value] : context.user_environment) {
    // The sweep for left-over processes relies on TONY_CONTAINER_ID, so the user cannot override
    // it.
    if (name != "TONY_CONTAINER_ID") environment[name] = value;
  }
  return environment;
}

bool IsChief(const TaskId& task, bool job_has_chief_type) {
  return task.index == 0 && task.type == (job_has_chief_type ? "chief" : "worker");
}

std::string DistributedModeName(DistributedMode mode) {
  return mode == DistributedMode::kGang ? "GANG" : "FCFS";
}

std::string FrameworkName(Framework framework) {
  switch (framework) {
    case Framework::kTensorFlow:
      return "tensorflow";
    case Framework::kPyTorch:
      return "pytorch";
    case Framework::kStandalone:
      return "standalone";
    case Framework::kHorovod:
      return "horovod";
    case Framework::kJax:
      return "jax";
    case Framework::kMxNet:
      return "mxnet";
  }
  return "unknown";
}

std::optional<Framework> ParseFramework(const std::string& name) {
  for (Framework framework : {Framework::kTensorFlow, Framework::kPyTorch, Framework::kStandalone,
                              Framework::kHorovod, Framework::kJax, Framework::kMxNet}) {
    if (FrameworkName(framework) == name) return framework;
  }
  return std::nullopt;
}

}  // namespace tony::core
