// Each input is checked here for being current, and handed to the part that it concerns.
// job_replay.cc has what a restarted ApplicationMaster adds.
#include "core/job/job_machine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/job/owned_parts.h"
#include "core/record/duration_text.h"

namespace tony::core {

JobMachine::JobMachine(JobDescription job, const HangSettings& hang)
    : owned_(std::make_unique<OwnedParts>(std::move(job))),
      run_(owned_->run),
      parts_(owned_->parts),
      hang_rule_(run_, parts_, hang) {}

JobMachine::~JobMachine() = default;

std::optional<TimePoint> JobMachine::NextDeadline() const {
  return parts_.deadlines.NextDeadline();
}

JobEffects JobMachine::Apply(const JobInput& input, TimePoint now) {
  run_.now = now;
  std::visit([this](const auto& event) { On(event); }, input);
  // The steps below only mark what may have changed; it is looked at once here, after the whole
  // input, so that one input leads to one request and one member list.
  parts_.gangs.RequestMissing();
  parts_.gangs.NotePartlyHeld();
  // The order matters: parts_.record.EndWaitIfOver() records that the job goes on, so the wait of a
  // stage is recorded after it.
  parts_.record.EndWaitIfOver();
  parts_.gangs.RecordStageWait();
  parts_.ranks.SendMembersIfChanged();
  if (!run_.decisions.empty()) {
    run_.effects.insert(run_.effects.begin(), effect::Journal{std::exchange(run_.decisions, {})});
  }
  return std::exchange(run_.effects, {});
}

void JobMachine::On(const input::Start& start) {
  if (replayed_) return Resume(start);
  Begin();
}

void JobMachine::On(const input::ContainerGranted& granted) {
  if (run_.tasks.FindByContainer(granted.container.id) != nullptr) return;
  // A container without a task that asked for it is surplus, or came after the verdict.
  Task* task = run_.verdict ? nullptr : run_.tasks.FirstAsked(granted.container.type);
  if (task == nullptr) {
    run_.Do(effect::KillContainer{granted.container.id});
    return;
  }
  run_.allocation_wait.clear();
  run_.Note(decision::ContainerBound{granted.container, task->id});
  parts_.steps.Bind(*task, granted.container);
}

void JobMachine::On(const input::AllocationWaiting& waiting) {
  std::vector<std::string> asked = run_.tasks.Names([](const Task& task) { return task.asked(); });
  if (asked.empty() || run_.verdict) return;
  run_.allocation_wait = waiting.what;
  run_.Do(effect::Record{JobWaiting{waiting.what, std::move(asked), waiting.unblock}});
}

void JobMachine::On(const input::AllocationRefused& refused) {
  Verdict verdict;
  verdict.reason = refused.never_fits ? Reason::kNeverFits : Reason::kBackendFailed;
  verdict.sentence = refused.sentence;
  parts_.ending.Decide(std::move(verdict));
}

void JobMachine::On(const input::ContainerEnded& ended) { parts_.steps.ContainerGone(ended); }

void JobMachine::On(const input::RanksPlanned& planned) {
  Task* const driver = parts_.executors.Heard(planned.container_id);
  if (driver != nullptr) parts_.ranks.OnPlanned(*driver, planned);
}

void JobMachine::On(const input::RendezvousWait& wait) {
  Task* const task = parts_.executors.Heard(wait.container_id);
  if (task == nullptr) return;
  if (task->id.type == kDriverType) return parts_.ranks.OnWait(*task, wait);
  // Other tasks report a stall of their ranks the same way.
  if (run_.IsCurrent(task, wait) && !run_.verdict && !task->over()) {
    parts_.record.RecordStall(wait.wait.sentence);
  }
}

void JobMachine::On(const input::Tick&) {
  parts_.deadlines.Tick();
  if (run_.state == JobState::kRunning && !run_.verdict) hang_rule_.Check();
}

void JobMachine::On(const input::ExecutorStarted& started) {
  Task* task = run_.tasks.FindByContainer(started.container_id);
  if (task == nullptr) return;
  task->container->executor = started.process;
  run_.Note(decision::ExecutorStarted{started.container_id, started.process});
}

void JobMachine::On(const input::ExecutorAttached& attached) {
  Task* task = parts_.executors.Heard(attached.container_id);
  if (task == nullptr) return;
  if (run_.verdict) {
    // This stream may be the first chance to tell the executor, and the first report of the end.
    const bool ended = attached.held && attached.held->phase == input::HeldTask::Phase::kEnded;
    if (ended && run_.IsCurrent(task, *attached.held)) parts_.steps.End(*task, attached.held->exit);
    parts_.executors.Attach(*task);
    return parts_.executors.Dismiss(*task, run_.verdict->sentence);
  }
  if (parts_.gangs.Settled(*task) || task->state == TaskState::kStopped) {
    parts_.executors.Attach(*task);
    return parts_.executors.Dismiss(*task, GangScheduler::kStageOver);
  }
  if (task->id.type == kDriverType) parts_.ranks.OnDriverAttached();
  task->containment = attached.containment;
  task->boot_id = attached.boot_id;
  if (attached.held) return parts_.steps.Rejoin(*task, *attached.held);
  // A second SendPrepare would make the executor end the program that it runs.
  if (task->attached()) return;
  parts_.executors.Attach(*task);
  task->attached_at = run_.now;
  run_.Do(effect::SendAssignment{attached.container_id, task->id});
  run_.Do(effect::SendPrepare{attached.container_id, run_.epoch, task->attempt});
}

void JobMachine::On(const input::ExecutorRegistered& registered) {
  Task* task = parts_.executors.Heard(registered.container_id);
  if (!run_.IsCurrent(task, registered) || task->state != TaskState::kStarting) return;
  parts_.steps.Register(*task, registered.port, registered.visualization_port);
}

void JobMachine::On(const input::TaskStarted& started) {
  Task* task = parts_.executors.Heard(started.container_id);
  if (!run_.IsCurrent(task, started) || task->state != TaskState::kReady) return;
  if (task->gang != 0) return;
  task->pid = started.pid;
  parts_.record.ChangeTask(*task, TaskState::kRunning);
}

void JobMachine::On(const input::TaskEnded& ended) {
  Task* task = parts_.executors.Heard(ended.container_id);
  if (run_.IsCurrent(task, ended)) parts_.steps.End(*task, ended.exit);
}

void JobMachine::On(const input::Heartbeat& heartbeat) {
  Task* task = parts_.executors.Heard(heartbeat.container_id);
  if (task == nullptr) return;
  if (heartbeat.sent != 0) run_.Do(effect::AnswerHeartbeat{heartbeat.container_id, heartbeat.sent});
  if (!heartbeat.usage || task->state != TaskState::kRunning) return;
  task->measured = TaskMeasured{task->id, *heartbeat.usage, task->attempt};
  hang_rule_.On(*task, *heartbeat.usage);
  run_.Do(effect::ShowMeasurement{*task->measured, heartbeat.earlier});
}

void JobMachine::On(const input::PortTaken& taken) {
  Task* task = parts_.executors.Heard(taken.container_id);
  if (task == nullptr || taken.epoch != run_.epoch) return;
  const std::string stranger = absl::StrCat(taken.holder, " (port ", taken.port, ")");
  if (std::exchange(task->stranger, stranger) == stranger) return;
  run_.Do(effect::Record{
      JobNote{absl::StrCat("The reserved port ", taken.port, " of ", task->id.ToString(),
                           " is listened on by a stranger: ", taken.holder)}});
}

void JobMachine::On(const input::TaskSilent& silent) {
  const Task* task = parts_.executors.Heard(silent.container_id);
  if (run_.IsCurrent(task, silent) && !run_.verdict) silence_notes_.On(*task, silent);
}

void JobMachine::On(const input::VisualizationListener& listener) {
  Task* task = parts_.executors.Heard(listener.container_id);
  if (!run_.IsCurrent(task, listener) || task->state != TaskState::kRunning) return;
  if (!run_.verdict) parts_.record.RecordVisualization(*task, listener.listens);
}

void JobMachine::On(const input::TaskNote& note) {
  if (Task* task = parts_.executors.Heard(note.container_id)) {
    run_.Do(effect::Record{JobNote{absl::StrCat(task->id.ToString(), ": ", note.sentence)}});
  }
}

void JobMachine::On(const input::StacksKept& kept) { hang_rule_.On(kept); }

void JobMachine::On(const input::StopRequested& request) {
  Verdict verdict;
  verdict.outcome = Outcome::kKilled;
  verdict.reason = request.reason;
  verdict.sentence = request.sentence;
  parts_.ending.Decide(std::move(verdict));
}

void JobMachine::Begin() {
  if (run_.state != JobState::kNew) return;
  parts_.record.Move(JobTrigger::kStart);
  run_.started_at = run_.now;
  parts_.deadlines.Start();
  parts_.gangs.AdmitStages();
}

void JobMachine::On(const input::ExecutorDetached& detached) {
  Task* task = run_.tasks.FindByContainer(detached.container_id);
  if (task == nullptr || !task->attached()) return;
  // A live executor opens another stream at once; a dead one never does.
  parts_.executors.Detach(*task);
  if (run_.state != JobState::kRunning || task->over()) return;
  parts_.record.RecordWait({"the stream of an executor broke, which opens another one",
                            run_.tasks.Names([](const Task& other) { return other.awaited(); }),
                            absl::StrCat("it attaches again, or counts as lost after ",
                                         SecondsText(run_.job.timeouts.reconnect),
                                         " (tony.task.reconnect-timeout-ms)")});
}

}  // namespace tony::core
