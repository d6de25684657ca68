// Fills in a v1::Assignment field by field. Variables of the task's type win over the job's, and
// these over Horovod's.
#include "appmaster/assignments.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/model/lease.h"
#include "core/model/log_share.h"
#include "core/model/master_task.h"
#include "core/rendezvous/worker_hosts.h"
#include "core/runtime/collective.h"
#include "core/runtime/runtime.h"
#include "core/runtime/visualization.h"

namespace tony::appmaster {
namespace {

v1::HorovodSettings HorovodSettingsOf(const core::JobDescription& job) {
  v1::HorovodSettings settings;
  settings.set_own_driver(job.horovod.own_driver);
  settings.set_rendezvous_timeout_ms(job.horovod.rendezvous.count());
  settings.set_network_interfaces(job.horovod.network_interfaces);
  if (const auto& elastic = job.horovod.elastic) {
    v1::HorovodSettings::Elastic& limits = *settings.mutable_elastic();
    limits.set_least(elastic->least);
    limits.set_most(job.FindType(core::kElasticType)->instances);
    limits.set_resets(elastic->resets);
    limits.set_patience_ms(elastic->patience.count());
  }
  return settings;
}

/// Limits and pauses, in milliseconds.
void SetDurations(const core::JobDescription& job, v1::Assignment& assignment) {
  const core::Timeouts& timeouts = job.timeouts;
  assignment.set_localization_timeout_ms(timeouts.localization.count());
  assignment.set_heartbeat_interval_ms(
      static_cast<int32_t>(core::HeartbeatPause(timeouts, job.CountTasks()).count()));
  assignment.set_metrics_interval_ms(static_cast<int32_t>(timeouts.metrics_interval.count()));
  assignment.set_measurement_pause_ms(core::MeasurementPause(timeouts, job.CountTasks()).count());
  assignment.set_execution_timeout_ms(timeouts.execution.count());
  assignment.set_kill_grace_ms(timeouts.kill_grace.count());
  assignment.set_reattach_ms(timeouts.reattach.count());
  assignment.set_silence_ms(timeouts.silence.count());
  assignment.set_lease_ms(core::LeaseOf(timeouts).count());
}

}  // namespace

bool IsFed(const core::Task& task) {
  return task.type->tracking == core::Tracking::kTracked && task.type->name != core::kDriverType &&
         task.type->name != core::kMasterTaskType;
}

Assignments::Assignments(std::string job_id, int incarnation, const core::JobDescription& job,
                         const jobfile::LocalSettings& local, TaskFolders folders,
                         v1::StagedFiles staged, std::string collective_key)
    : job_id_(std::move(job_id)),
      incarnation_(incarnation),
      job_(job),
      gpu_tool_(local.gpu_program),
      gpu_timeout_(local.gpu_timeout),
      hides_other_gpus_(local.hides_other_gpus),
      folders_(std::move(folders)),
      staged_(std::move(staged)),
      collective_key_(std::move(collective_key)),
      tracked_tasks_(core::CountTrackedTasks(job)) {}

v1::Assignment Assignments::For(const core::Task& task, const std::string& model_parameters) const {
  v1::Assignment assignment;
  assignment.mutable_task()->set_type(task.id.type);
  assignment.mutable_task()->set_index(task.id.index);
  assignment.set_job_id(job_id_);
  assignment.set_incarnation(incarnation_);
  assignment.set_framework(core::FrameworkName(job_.framework));
  assignment.set_reports_model_parameters(core::IsPreprocessing(job_, task.id.type));
  assignment.set_first_come_served(job_.mode == core::DistributedMode::kFirstComeServed);
  assignment.set_tracked_tasks(tracked_tasks_);
  assignment.set_chief(core::IsChief(task.id, job_.FindType("chief") != nullptr));
  assignment.set_wants_visualization_port(core::VisualizationTask(job_) == task.id);
  assignment.set_rdma(job_.rdma);
  assignment.set_release_ports(task.type->port_release);
  assignment.set_command(task.type->command);
  auto& environment = *assignment.mutable_environment();
  if (job_.framework == core::Framework::kHorovod) {
    *assignment.mutable_horovod() = HorovodSettingsOf(job_);
    if (core::IsRanked(task.id.type)) {
      environment.insert(job_.horovod.variables.begin(), job_.horovod.variables.end());
    }
  }
  // The order of the following insertions sets the precedence: insert() keeps what is there,
  // assignment replaces it.
  core::Environment own;
  core::SetCollectiveKey(job_, collective_key_, own);
  if (!model_parameters.empty()) own["MODEL_PARAMS"] = model_parameters;
  environment.insert(own.begin(), own.end());
  for (const auto& [name, value] : job_.execution_env) environment[name] = value;
  for (const auto& [name, value] : task.type->env) environment[name] = value;
  if (!folders_.logs.empty()) {
    assignment.set_log_folder(absl::StrCat(folders_.logs, "/", task.id.ToPath()));
  }
  assignment.set_checkpoint_folder(job_.checkpoint_dir.empty() ? folders_.checkpoints
                                                               : job_.checkpoint_dir);
  for (const v1::StagedFiles::Entry& entry : staged_.entries()) {
    const auto& types = entry.types();
    if (types.empty() || std::find(types.begin(), types.end(), task.id.type) != types.end()) {
      *assignment.add_archives() = entry.archive();
    }
  }
  assignment.set_cache_folder(folders_.cache);
  SetDurations(job_, assignment);
  assignment.set_tail_lines(job_.error_message_max_depth);
  const core::LogShare logs = core::ShareOfOneStream(job_);
  assignment.set_log_segment_bytes(logs.segment);
  assignment.set_log_total_bytes(logs.total);
  for (const std::string& pattern : job_.logs.redact) assignment.add_log_redact(pattern);
  assignment.set_progress_pattern(job_.progress_pattern);
  // The driver numbers the GPUs that it sees. In an image it sees the container's own only.
  int seen = 0;
  for (int gpu : task.container->gpus) assignment.add_gpus(hides_other_gpus_ ? seen++ : gpu);
  assignment.set_gpu_tool(gpu_tool_);
  assignment.set_gpu_tool_timeout_ms(gpu_timeout_.count());
  if (!feed_token_.empty() && IsFed(task)) {
    assignment.mutable_feed()->set_buffer_bytes(feed_buffer_);
    assignment.mutable_feed()->set_token(feed_token_);
  }
  return assignment;
}

}  // namespace tony::appmaster
