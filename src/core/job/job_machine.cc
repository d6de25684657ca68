// The steps of JobMachine for containers, executors and tasks as they come and go. Stages and gangs
// are in job_stages.cc, Horovod's rendezvous in job_rendezvous.cc, failures and restarts in
// job_restart.cc, deadlines in job_deadlines.cc, broken streams and restarted ApplicationMasters in
// job_recovery.cc.
#include "core/job/job_machine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tony::core {

JobMachine::JobMachine(JobDescription job)
    : job_(std::move(job)),
      policy_(job_),
      stages_(job_.types),
      groups_(job_.dependency_timeouts),
      tasks_(job_.types),
      admitted_(stages_.stages().size()),
      restarts_(job_) {}

JobEffects JobMachine::Apply(const JobInput& input, TimePoint now) {
  now_ = now;
  std::visit([this](const auto& event) { On(event); }, input);
  // The steps below only mark what may have changed; it is looked at once here, after the whole
  // input, so that one input leads to one request and one member list.
  RequestMissing();
  NotePartlyHeld();
  // The order matters: UnsayIfOver() records that the job goes on, so the wait of a stage is
  // recorded after it.
  UnsayIfOver();
  SayWhichStageWaits();
  TellMembers();
  if (!decisions_.empty()) {
    effects_.insert(effects_.begin(), effect::Journal{std::exchange(decisions_, {})});
  }
  return std::exchange(effects_, {});
}

bool JobMachine::Move(JobTrigger trigger, const std::string& sentence) {
  const std::optional<JobState> next = NextState(state_, trigger);
  if (!next) return false;
  state_ = *next;
  state_since_ = now_;
  SayGoesOn(sentence);
  return true;
}

void JobMachine::SayGoesOn(const std::string& sentence) {
  Do(effect::Record{JobStateChanged{state_, epoch_, sentence}});
  said_.reset();
  said_wait_ = false;
  progressed_ = true;
  // A change of state ends another wait, but the processes of the rendezvous still wait.
  if (state_ == JobState::kRunning && !rendezvous_wait_.sentence.empty()) SayWhoIsNotFound();
}

void JobMachine::ChangeTask(Task& task, TaskState state, const std::string& sentence) {
  members_changed_ = true;
  tasks_.SetState(task, state);
  if (task.over() && task.fellows->over == task.fellows->size) {
    groups_.OnTypeEnded(task.id.type, now_);
  }
  task.since = now_;
  if (state != TaskState::kRunning) {
    task.pid = 0;
    // History keeps one measurement per run: the last one, with the peaks.
    if (task.measured) Do(effect::Record{*std::exchange(task.measured, std::nullopt)});
  }
  if (state == TaskState::kNew || state == TaskState::kStarting) {
    task.port = 0;
    task.visualization_port = 0;
  }
  TaskChanged change;
  change.task = task.id;
  change.state = state;
  change.epoch = epoch_;
  change.attempt = task.attempt;
  if (task.container) {
    change.container = task.container->id;
    change.host = task.container->host;
    change.containment = task.containment;
    change.log_url = task.container->log_url;
  }
  change.port = task.port;
  change.pid = task.pid;
  change.exit = task.exit;
  change.sentence = sentence;
  Do(effect::Record{std::move(change)});
}

Task* JobMachine::Heard(const std::string& container_id) {
  Task* task = tasks_.FindByContainer(container_id);
  if (task == nullptr || task->killed) {
    // The container was given up too early, or its message comes late. Its program must end.
    Do(effect::SendShutdown{container_id, "the job has no use for this container"});
    return nullptr;
  }
  task->last_heard = now_;
  return task;
}

void JobMachine::Kill(Task& task) {
  task.killed = true;
  task.killed_at = now_;
  members_changed_ = true;
  task.attached = false;
  NoLongerAwaited(task);
  Do(effect::KillContainer{task.container->id});
}

void JobMachine::Dismiss(Task& task, const std::string& why) {
  task.dismissed = true;
  Do(effect::SendShutdown{task.container->id, why});
}

void JobMachine::On(const input::Start& start) {
  if (replayed_) return Resume(start);
  Begin();
}

void JobMachine::On(const input::ContainerGranted& granted) {
  if (tasks_.FindByContainer(granted.container.id) != nullptr) return;
  // A container without a task that asked for it is surplus, or came after the verdict.
  Task* task = verdict_ ? nullptr : tasks_.FirstAsked(granted.container.type);
  if (task == nullptr) {
    Do(effect::KillContainer{granted.container.id});
    return;
  }
  allocation_wait_.clear();
  Note(decision::ContainerBound{granted.container, task->id});
  Bind(*task, granted.container);
}

void JobMachine::Bind(Task& task, const Container& container) {
  tasks_.Bind(task, container);
  task.waiting_since = now_;
  task.last_heard = now_;
  task.attempt = std::max(1, task.attempt);
  ChangeTask(task, TaskState::kStarting);
  Do(effect::LaunchExecutor{container.id, task.id});
  if (task.gang == 0) return;
  Gang& gang = tasks_.gangs().at(task.gang);
  if (gang.bound < gang.size) return;
  // The gang is complete only now, so its wait for registrations starts here.
  gang.since = now_;
  gang.said_missing = false;
  if (state_ == JobState::kAllocating) Move(JobTrigger::kGangGranted);
}

void JobMachine::On(const input::AllocationWaiting& waiting) {
  std::vector<std::string> asked = tasks_.Names([](const Task& task) { return task.asked; });
  if (asked.empty() || verdict_) return;
  allocation_wait_ = waiting.what;
  Do(effect::Record{JobWaiting{waiting.what, std::move(asked), waiting.unblock}});
}

void JobMachine::On(const input::AllocationRefused& refused) {
  Verdict verdict;
  verdict.reason = refused.never_fits ? Reason::kNeverFits : Reason::kBackendFailed;
  verdict.sentence = refused.sentence;
  Decide(std::move(verdict));
}

void JobMachine::On(const input::ExecutorStarted& started) {
  Task* task = tasks_.FindByContainer(started.container_id);
  if (task == nullptr) return;
  task->container->executor = started.process;
  Note(decision::ExecutorStarted{started.container_id, started.process});
}

void JobMachine::On(const input::ExecutorAttached& attached) {
  Task* task = Heard(attached.container_id);
  if (task == nullptr) return;
  if (verdict_) {
    // This stream may be the first chance to tell the executor, and the first report of the end.
    const bool ended = attached.held && attached.held->phase == input::HeldTask::Phase::kEnded;
    if (ended && IsCurrent(task, *attached.held)) End(*task, attached.held->exit);
    return Dismiss(*task, verdict_->sentence);
  }
  if (Settled(*task) || task->state == TaskState::kStopped) {
    task->attached = true;
    NoLongerAwaited(*task);
    return Dismiss(*task, kStageOver);
  }
  if (task->id.type == kDriverType) ForgetTold();
  task->containment = attached.containment;
  task->boot_id = attached.boot_id;
  if (attached.held) return Rejoin(*task, *attached.held);
  // A second SendPrepare would make the executor end the program that it runs.
  if (task->attached) return;
  task->attached = true;
  NoLongerAwaited(*task);
  Do(effect::SendAssignment{attached.container_id, task->id});
  Do(effect::SendPrepare{attached.container_id, epoch_, task->attempt});
}

void JobMachine::On(const input::ExecutorRegistered& registered) {
  Task* task = Heard(registered.container_id);
  if (!IsCurrent(task, registered) || task->state != TaskState::kStarting) return;
  Register(*task, registered.port, registered.visualization_port);
}

void JobMachine::Register(Task& task, int port, int visualization_port) {
  task.port = port;
  task.visualization_port = visualization_port;
  ChangeTask(task, TaskState::kReady);
  ReleaseGangs();
}

void JobMachine::SendStart(std::vector<std::string> container_ids) {
  for (const std::string& id : container_ids) {
    Task* task = tasks_.FindByContainer(id);
    if (task != nullptr) task->told_to_start = task->attempt;
  }
  Do(effect::SendStart{std::move(container_ids), epoch_, spec_, plan_});
}

void JobMachine::On(const input::TaskStarted& started) {
  Task* task = Heard(started.container_id);
  if (!IsCurrent(task, started) || task->state != TaskState::kReady) return;
  if (task->gang != 0) return;
  task->pid = started.pid;
  ChangeTask(*task, TaskState::kRunning);
}

void JobMachine::On(const input::TaskEnded& ended) {
  Task* task = Heard(ended.container_id);
  if (IsCurrent(task, ended)) End(*task, ended.exit);
}

void JobMachine::End(Task& task, const TaskExit& exit) {
  const bool live = task.state == TaskState::kStarting || task.state == TaskState::kReady ||
                    task.state == TaskState::kRunning;
  if (!live) return;
  // Before the gang is complete no process of this epoch runs, so only a failure to prepare or a
  // loss can be true; any other end is a stale message.
  if (task.gathering() && exit.cause != TaskExit::Cause::kNotStarted &&
      exit.cause != TaskExit::Cause::kLost) {
    return;
  }
  task.exit = IsDriver(task) ? DriverExit(exit) : exit;
  if (verdict_) {
    ChangeTask(task, exit.ok() ? TaskState::kSucceeded : TaskState::kStopped);
    Reconsider(task);
    return;
  }
  // A driver may end well only when all ranks are planned and no worker waits for a round: they
  // would wait for ever.
  if (exit.ok() && &task == PlanningDriver()) {
    return FailDriver(task, "it ended before it said who has which rank");
  }
  if (const Task* other = exit.ok() && IsDriver(task) ? WaitsForRound() : nullptr) {
    return FailDriver(task, absl::StrCat("it ended although ", other->id.ToString(),
                                         " waits to take part in a round"));
  }
  if (!exit.ok()) return OnTaskFailed(task, FailureOf(task));
  Note(decision::TaskConcluded{task.id, exit});
  ChangeTask(task, TaskState::kSucceeded);
  if (IsElastic(task)) LetWaitingGo();
  JudgeEnd();
  if (!verdict_) OnProgress();
}

void JobMachine::JudgeEnd() {
  // A failure that is still to be judged may restart these tasks.
  if (judge_at_ && tasks_.tracked(TaskState::kFailed) > 0) return;
  if (std::optional<Verdict> verdict = policy_.JudgeAll(tasks_)) Decide(std::move(*verdict));
}

void JobMachine::On(const input::ContainerEnded& ended) {
  Task* task = tasks_.FindByContainer(ended.container_id);
  if (task == nullptr) return;
  const std::string what = absl::StrCat("container ", ended.container_id, " on ",
                                        task->container->host, ": ", ended.end.sentence);
  if (!ended.end.seen && !verdict_ && MayRunOn(*task)) {
    // The failure counts now, but the lease may still be valid, so the task gets no other container
    // yet. CheckKilled() gives this one up.
    if (!task->killed) OnSilent(*task, Reason::kTaskLost, what);
    return;
  }
  NoLongerAwaited(*task);
  if (verdict_) {
    if (!task->over()) {
      if (ended.end.lost && !task->killed && !task->dismissed) task->exit = TaskExit::Lost(what);
      ChangeTask(*task, TaskState::kStopped);
      Reconsider(*task);
    }
    tasks_.Unbind(*task);
    EndIfAllGone();
    return;
  }
  const bool replaced = task->gathering() && task->kept;
  tasks_.Unbind(*task);
  // A stage that waits for the room of this type may be requested now.
  missing_ = missing_ || task->fellows->bound == 0;
  if (task->over()) return;
  if (replaced) {
    // The loss belongs to the failure that ended the last epoch, or to the restarted
    // ApplicationMaster, so the replacement costs no budget again.
    ChangeTask(*task, TaskState::kNew, what);
    missing_ = true;
    if (plan_ != nullptr || !JoinsLater(*task)) return;
    // The first gang of an elastic job does not wait for a worker that can join later.
    tasks_.SetGang(*task, 0);
    ReleaseGangs();
    return;
  }
  task->exit = TaskExit::Lost(what);
  OnTaskFailed(*task, SuccessPolicy::FailureOf(*task));
}

void JobMachine::On(const input::Heartbeat& heartbeat) {
  Task* task = Heard(heartbeat.container_id);
  if (task == nullptr) return;
  if (heartbeat.sent != 0) Do(effect::AnswerHeartbeat{heartbeat.container_id, heartbeat.sent});
  if (!heartbeat.usage || task->state != TaskState::kRunning) return;
  task->measured = TaskMeasured{task->id, *heartbeat.usage, task->attempt};
  Do(effect::ShowMeasurement{*task->measured});
}

void JobMachine::On(const input::PortTaken& taken) {
  Task* task = Heard(taken.container_id);
  if (task == nullptr || taken.epoch != epoch_) return;
  const std::string stranger = absl::StrCat(taken.holder, " (port ", taken.port, ")");
  if (std::exchange(task->stranger, stranger) == stranger) return;
  Do(effect::Record{
      JobNote{absl::StrCat("The reserved port ", taken.port, " of ", task->id.ToString(),
                           " is listened on by a stranger: ", taken.holder)}});
}

void JobMachine::On(const input::LogLoss& loss) {
  if (Task* task = Heard(loss.container_id)) {
    Do(effect::Record{JobNote{absl::StrCat(task->id.ToString(), ": ", loss.sentence)}});
  }
}

void JobMachine::On(const input::StopRequested& request) {
  Verdict verdict;
  verdict.outcome = Outcome::kKilled;
  verdict.reason = request.reason;
  verdict.sentence = request.sentence;
  Decide(std::move(verdict));
}

void JobMachine::Decide(Verdict verdict) {
  if (verdict_) return;
  verdict_ = std::move(verdict);
  judge_at_.reset();
  Note(decision::VerdictReached{*verdict_});
  Do(effect::CancelRequests{});
  Move(JobTrigger::kVerdict, verdict_->sentence);
  // An executor that must attach again is neither told nor killed yet: it is told to shut down when
  // it attaches, and CheckStopping() kills it otherwise.
  for (Task& task : tasks_.all()) {
    if (!task.container) continue;
    if (task.attached) {
      Dismiss(task, verdict_->sentence);
    } else if (!task.killed && !task.reattach_by) {
      Kill(task);
    }
  }
  EndIfAllGone();
}

void JobMachine::EndIfAllGone() {
  if (tasks_.bound() > 0 || state_ == JobState::kEnded) return;
  Move(JobTrigger::kAllGone);
  Do(effect::Record{JobEnded{*verdict_}});
  Do(effect::Finish{*verdict_});
}

}  // namespace tony::core
