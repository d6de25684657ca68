// Write-ahead rule: an effect is carried out only after the journal has kept the decisions of its
// step; steps run strictly in order.
#include "appmaster/job_runner.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "core/model/master_task.h"
#include "logs/bounded_log.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/utf8.h"
#include "rpc/security/credentials.h"

namespace tony::appmaster {
namespace {

std::vector<std::string> EnvironmentList(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> list;
  for (const auto& [name, value] : variables) list.push_back(absl::StrCat(name, "=", value));
  return list;
}

}  // namespace

JobRunner::JobRunner(core::JobMachine& machine, Parts parts)
    : machine_(machine), parts_(std::move(parts)) {}

void JobRunner::Apply(core::JobInput input) {
  taken_.push_back(std::move(input));
  ApplyTaken();
}

void JobRunner::Take(core::JobInput input) {
  taken_.push_back(std::move(input));
  if (taken_.size() == 1) parts_.loop.Post([this] { ApplyTaken(); });
}

void JobRunner::ApplyTaken() {
  if (deposed_) return;
  // All inputs taken so far form one step: one journal entry for their decisions, then their
  // effects.
  core::Decisions decisions;
  core::JobEffects effects;
  for (const core::JobInput& input : std::exchange(taken_, {})) {
    for (core::JobEffect& effect : machine_.Apply(input, parts_.clock.Now())) {
      if (auto* journal = std::get_if<core::effect::Journal>(&effect)) {
        decisions.insert(decisions.end(), journal->decisions.begin(), journal->decisions.end());
      } else {
        effects.push_back(std::move(effect));
      }
    }
  }
  steps_.push_back({decisions.empty(), std::move(effects)});
  if (!decisions.empty()) {
    parts_.journal.Append(decisions, [this](const absl::Status& status) { OnKept(status); });
  }
  CarryOut();
  if (deposed_) return;
  parts_.on_step();
  deadline_.reset();
  if (std::optional<TimePoint> next = machine_.NextDeadline()) {
    deadline_ = parts_.loop.After(*next - parts_.clock.Now(), [this] { Tick(); });
  }
}

void JobRunner::Tick() {
  // The result is ignored: a failure would otherwise be logged again with each tick.
  (void)logs::BoundLog(STDERR_FILENO, STDOUT_FILENO);
  Apply(core::input::Tick{});
}

void JobRunner::OnContainerGranted(const core::Container& container) {
  Take(core::input::ContainerGranted{container});
}

void JobRunner::OnExecutorStarted(const std::string& container_id,
                                  const core::ExecutorProcess& process) {
  Take(core::input::ExecutorStarted{container_id, process});
}

void JobRunner::OnAllocationWaiting(const std::string& what, const std::string& unblock) {
  Apply(core::input::AllocationWaiting{what, unblock});
}

void JobRunner::OnAllocationRefused(bool never_fits, const std::string& sentence) {
  Apply(core::input::AllocationRefused{never_fits, sentence});
}

void JobRunner::OnContainerEnded(const std::string& container_id, const core::ContainerEnd& end) {
  Apply(core::input::ContainerEnded{container_id, end});
}

void JobRunner::OnKept(const absl::Status& status) {
  if (deposed_) return;
  if (absl::IsAborted(status)) {
    deposed_ = true;
    deadline_.reset();
    return parts_.on_deposed(std::string(status.message()));
  }
  if (!status.ok() && !std::exchange(said_loss_, true)) {
    // The job goes on without its journal, because the job is worth more. A note tells the user.
    parts_.history.Record(core::JobNote{
        absl::StrCat("The journal cannot be written, so the job would not outlive its "
                     "ApplicationMaster: ",
                     std::string(status.message()))});
  }
  if (status.ok()) said_loss_ = false;
  // The journal answers in the order of its calls, so the answer belongs to the oldest step that is
  // not kept.
  std::find_if(steps_.begin(), steps_.end(), [](const Step& step) { return !step.kept; })->kept =
      true;
  CarryOut();
}

void JobRunner::CarryOut() {
  // An effect may apply further inputs. Their effects are queued here and run after the present
  // ones, not nested.
  if (std::exchange(carrying_out_, true)) return;
  while (!deposed_ && !holding_ && !steps_.empty() && steps_.front().kept) {
    Step step = std::move(steps_.front());
    steps_.pop_front();
    for (auto effect = step.effects.begin(); effect != step.effects.end(); ++effect) {
      if (HoldsEnd(*effect)) {
        step.effects.erase(step.effects.begin(), effect);
        steps_.push_front(std::move(step));
        break;
      }
      std::visit([this](const auto& kind) { Run(kind); }, *effect);
    }
  }
  carrying_out_ = false;
}

bool JobRunner::HoldsEnd(const core::JobEffect& effect) {
  const auto* const record = std::get_if<core::effect::Record>(&effect);
  if (record == nullptr || !std::holds_alternative<core::JobEnded>(record->body)) return false;
  if (std::exchange(end_asked_, true)) return false;
  holding_ = true;
  parts_.before_end([this] {
    holding_ = false;
    CarryOut();
  });
  return true;
}

void JobRunner::Run(const core::effect::ReclaimContainers& effect) {
  backend_->Reclaim(effect.containers);
}

void JobRunner::Run(const core::effect::RequestContainers& effect) {
  backend_->Request(effect.requests);
}

void JobRunner::Run(const core::effect::GiveBackSpare&) { backend_->GiveBackSpare(); }

void JobRunner::Run(const core::effect::CancelRequests&) { backend_->CancelRequests(); }

void JobRunner::Run(const core::effect::LaunchExecutor& effect) {
  const absl::StatusOr<rpc::Credentials> credentials =
      parts_.authority.Issue(rpc::ExecutorRole(parts_.authority.job_id(), effect.container_id));
  if (!credentials.ok()) {
    LogError(absl::StrCat(effect.container_id, ": ", credentials.status().ToString()));
    const std::string why(credentials.status().message());
    // Posted, because the machine's answer is still being carried out.
    parts_.loop.Post([this, id = effect.container_id, why] {
      Apply(core::input::ContainerEnded{id, core::ContainerEnd{true, why}});
    });
    backend_->Kill(effect.container_id);
    return;
  }
  // The executor gets its certificate for this container only; a restarted task's next container
  // gets a new one.
  core::LaunchContext context;
  context.arguments = {
      absl::StrCat("--container-id=", effect.container_id),
      absl::StrCat("--master=", master_address_),
      absl::StrCat("--registry-timeout-ms=", machine_.job().timeouts.registry.count()),
      absl::StrCat("--containment=", machine_.job().containment)};
  if (const core::TaskType* type = machine_.job().FindType(effect.task.type)) {
    context.arguments.push_back(absl::StrCat("--memory-mb=", type->resources.memory_mb));
  }
  context.arguments.insert(context.arguments.end(), parts_.executor_arguments.begin(),
                           parts_.executor_arguments.end());
  context.environment = EnvironmentList(machine_.job().container_env);
  context.name = effect.task.ToPath();
  context.secret = rpc::FormatCredentials(*credentials);
  LogDebug("launching", {{"task", effect.task.ToString()}, {"container", effect.container_id}});
  backend_->Launch(effect.container_id, context);
}

void JobRunner::Run(const core::effect::SendAssignment& effect) {
  const core::Task* task = machine_.tasks().FindByContainer(effect.container_id);
  if (task == nullptr) return;
  v1::MasterMessage message;
  const core::Task* first = machine_.tasks().Find({core::kMasterTaskType, 0});
  const bool preprocessed = first != nullptr && first != task && first->exit;
  *message.mutable_assignment() =
      parts_.assignments.For(*task, preprocessed ? first->exit->model_parameters : "");
  Send(effect.container_id, message);
}

void JobRunner::Run(const core::effect::SendReattached& effect) {
  v1::MasterMessage message;
  message.mutable_reattached()->set_incarnation(parts_.journal.incarnation());
  Send(effect.container_id, message);
}

void JobRunner::Run(const core::effect::AnswerHeartbeat& effect) {
  v1::MasterMessage message;
  message.mutable_heartbeat_answer()->set_sent(effect.sent);
  Send(effect.container_id, message);
}

void JobRunner::Run(const core::effect::SendPrepare& effect) {
  v1::MasterMessage message;
  message.mutable_prepare()->set_epoch(effect.epoch);
  message.mutable_prepare()->set_attempt(effect.attempt);
  message.mutable_prepare()->set_keep_ports(effect.keep_ports);
  Send(effect.container_id, message);
}

void JobRunner::Run(const core::effect::SendStart& effect) {
  v1::MasterMessage message;
  message.mutable_start()->set_epoch(effect.epoch);
  message.mutable_start()->set_cluster_spec(rpc::ToProto(*effect.spec).SerializeAsString());
  if (effect.plan != nullptr) *message.mutable_start()->mutable_plan() = rpc::ToProto(*effect.plan);
  for (const std::string& container_id : effect.container_ids) Send(container_id, message);
}

void JobRunner::Run(const core::effect::SendMembers& effect) {
  v1::MasterMessage message;
  v1::RendezvousMembers& members = *message.mutable_members();
  members.set_epoch(effect.epoch);
  members.set_attempt(effect.attempt);
  for (const core::ElasticMember& member : effect.members) {
    v1::RendezvousMembers::Member& added = *members.add_members();
    added.set_name(rpc::ToUtf8(member.name));
    added.set_host(rpc::ToUtf8(member.host));
  }
  members.set_finished(effect.finished);
  Send(effect.container_id, message);
}

void JobRunner::Run(const core::effect::SendShutdown& effect) {
  v1::MasterMessage message;
  message.mutable_shutdown()->set_reason(rpc::ToUtf8(effect.reason));
  message.mutable_shutdown()->set_keep_stacks(effect.keep_stacks);
  // An executor that is gone need not be told.
  (void)parts_.executors.Send(effect.container_id, message);
  backend_->ExpectEnd(effect.container_id);
}

void JobRunner::Run(const core::effect::KillContainer& effect) {
  backend_->Kill(effect.container_id);
}

void JobRunner::Run(const core::effect::Record& effect) {
  if (const auto* change = std::get_if<core::JobStateChanged>(&effect.body)) {
    LogInfo(absl::StrCat("job is ", core::JobStateName(change->state), ", epoch ", change->epoch,
                         change->sentence.empty() ? "" : ": ", change->sentence));
  }
  parts_.measurements.ShowAll();
  parts_.history.Record(effect.body);
}

void JobRunner::Run(const core::effect::KeepStacks& effect) { parts_.keep_stacks(effect); }

void JobRunner::Run(const core::effect::ShowMeasurement& effect) {
  parts_.measurements.Take(effect.measured);
  parts_.metrics.Take(effect.measured, effect.earlier);
}

void JobRunner::Run(const core::effect::ReportFault& effect) {
  LogError(absl::StrCat("a fault of tony, please report it: ", effect.sentence));
}

void JobRunner::Run(const core::effect::Finish& effect) {
  LogInfo(absl::StrCat("verdict ", core::OutcomeName(effect.verdict.outcome), ": ",
                       effect.verdict.sentence));
  parts_.on_finished();
}

void JobRunner::Send(const std::string& container_id, const v1::MasterMessage& message) {
  const absl::Status sent = parts_.executors.Send(container_id, message);
  // The executor is gone; the backend or the missing heartbeats will report it.
  if (!sent.ok()) LogWarning(std::string(sent.message()));
}

}  // namespace tony::appmaster
