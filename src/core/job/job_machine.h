// The state machine of one job: applies each input and returns the effects to carry out.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "core/job/job_effect.h"
#include "core/job/job_input.h"
#include "core/judge/restart_policy.h"
#include "core/judge/root_cause.h"
#include "core/judge/success_policy.h"
#include "core/model/cluster_spec.h"
#include "core/model/job_description.h"
#include "core/record/task_table.h"
#include "core/rendezvous/rendezvous_wait.h"
#include "core/rendezvous/worker_hosts.h"
#include "core/schedule/group_deadlines.h"
#include "core/schedule/stage_graph.h"
#include "core/tasks/job_state.h"

namespace tony::core {

/// `job_state.h` draws the states and their transitions. How a job runs:
///  1. Start asks for all containers of the first stage at once; in a job without dependencies that
///     is every container. Each granted container is bound to the next task of its type, and its
///     executor is launched immediately. The gang holds back only the start of the user's
///     processes.
///  2. An executor that attaches is told its task, and to prepare for the current epoch.
///  3. When every task of the gang has registered for the epoch, all of them get one cluster spec
///     and start the user's process. Until then the failure of any task fails the attempt, whatever
///     its type: the gang cannot be complete without it.
///  4. A stage whose dependencies are fulfilled (StageGraph) is a gang of its own, while the job is
///     RUNNING. It asks for its containers when those of the tracked types that it depends on are
///     gone. Its spec lists its own tasks and the tasks of other stages that were started before
///     it, without types whose tasks have all succeeded. A type that has succeeded does not run
///     again once its whole stage has succeeded or anything that depends on it may start: its
///     executors are told to go.
///  5. SuccessPolicy judges the ends of tasks, RootCauseOf picks the guilty task among several
///     failures, and RestartPolicy decides what follows. While the budgets last, the job starts a
///     new epoch: every executor ends its process tree and registers again with new ports, lost
///     containers are requested again, and all stages that had begun start together. With a
///     narrower restart scope, some tasks start again in this epoch, in their containers, at their
///     old ports.
///  6. An executor whose stream broke keeps running its program and reports its state on its next
///     stream; messages lost in between are made up for. An executor that does not come back in
///     time counts as lost.
///  7. A type that has not ended in time after a group of others (GroupDeadlines) ends the job, or
///     is no longer waited for.
///  8. The answer contains every decision before the effects that follow from it. Replay() brings
///     another machine to the state of this one, and Start goes on from there.
///  9. The machine waits for a killed container until the backend reports its end; after
///     container_kill the task gets another container all the same.
/// 10. On a verdict all executors are told to shut down; those that do not do so within kill_grace
///     + shutdown are killed. The job ends when no container is left, or when the killed ones are
///     not reported gone either.
/// 11. In a Horovod job the driver and the workers are one gang, but the programs of tasks with a
///     rank start only after the driver has planned the ranks. The driver has driver_start for
///     that.
/// 12. In an elastic job the driver is told of all processes that exist or could be started, and
///     announces in rounds who takes part. Workers beyond the first ones are requested one by one.
///     A worker that fails is prepared again after a delay that grows with each failure, and costs
///     no budget. When one worker has succeeded, no further one joins.
/// Messages of another epoch, or of a container that is no longer bound, change nothing; an
/// executor that speaks for such a container is told to shut down. Not thread safe: owned by the
/// event loop. Does no I/O.
class JobMachine {
 public:
  explicit JobMachine(JobDescription job);
  JobMachine(const JobMachine&) = delete;  // tasks point into the description
  JobMachine& operator=(const JobMachine&) = delete;

  /// Takes over a decision that an earlier ApplicationMaster made at `at`. Call it for each
  /// decision in their order, before the first input.
  void Replay(const Decision& decision, TimePoint at);
  /// Takes over the newest measurement of a run that may go on. Call it after Replay(). If the run
  /// has ended meanwhile, this is the last measurement known of it. A measurement of another run
  /// changes nothing.
  void Remember(const TaskMeasured& measured);
  /// Applies one input and returns the effects to carry out, in order.
  JobEffects Apply(const JobInput& input, TimePoint now);
  /// The next time at which Apply(Tick) has something to check; nullopt while no deadline runs.
  std::optional<TimePoint> NextDeadline() const;

  JobState state() const { return state_; }
  int epoch() const { return epoch_; }
  const TaskTable& tasks() const { return tasks_; }
  const std::optional<Verdict>& verdict() const { return verdict_; }
  const JobDescription& job() const { return job_; }

 private:
  void On(const input::Start& start);
  void On(const input::ContainerGranted& granted);
  void On(const input::AllocationWaiting& waiting);
  void On(const input::AllocationRefused& refused);
  void On(const input::ContainerEnded& ended);
  void On(const input::ExecutorStarted& started);
  void On(const input::ExecutorAttached& attached);
  void On(const input::ExecutorDetached& detached);
  void On(const input::ExecutorRegistered& registered);
  void On(const input::TaskStarted& started);
  void On(const input::TaskEnded& ended);
  void On(const input::Heartbeat& heartbeat);
  void On(const input::PortTaken& taken);
  void On(const input::LogLoss& loss);
  void On(const input::RanksPlanned& planned);
  void On(const input::RendezvousWait& wait);
  void On(const input::StopRequested& request);
  void On(const input::Tick&);

  void Redo(const decision::ContainerBound& bound);
  void Redo(const decision::GangReleased& released);
  void Redo(const decision::PlanAccepted& accepted);
  void Redo(const decision::TaskConcluded& concluded);
  void Redo(const decision::TasksRestarted& restarted);
  void Redo(const decision::TrackingStopped& stopped);
  void Redo(const decision::VerdictReached& reached);
  void Redo(const decision::ExecutorStarted& started);
  /// Continues after Replay(): reclaims the containers and requests the missing ones.
  void Resume(const input::Start& start);
  void Rejoin(Task& task, const input::HeldTask& held);
  /// Call when the task's executor has attached again, or is known never to.
  void NoLongerAwaited(Task& task);

  bool Move(JobTrigger trigger, const std::string& sentence = "");
  void ChangeTask(Task& task, TaskState state, const std::string& sentence = "");
  /// Records that the job continues in its state, which also ends the wait that was shown before.
  void SayGoesOn(const std::string& sentence);
  void Bind(Task& task, const Container& container);

  // Stages and gangs.
  void Begin();
  JobProgress Progress() const;
  /// Call when all tasks of a type may have succeeded, or been started.
  void OnProgress();
  void AdmitStages();
  /// Gives up the containers of types that have succeeded and will not run again.
  void SettleTypes();
  /// True in a Horovod job until all processes with a rank have succeeded.
  bool RankedRun() const;
  /// Ends a Horovod job's driver when nothing is left for it to do.
  void SettleDriver();
  bool Settled(const Task& task) const { return settled_.count(task.id.type) > 0; }
  /// Makes `members` a gang: they start together, and not before `delay` has passed.
  void FormGang(const std::vector<Task*>& members, Duration delay);
  /// Requests a container for every task that is to start and has none.
  void RequestMissing();
  /// True while containers of the tracked types that the task's stage depends on are still there:
  /// the stage takes their place.
  bool AwaitsRoom(const Task& task) const;
  void ReleaseGangs();
  void Release(int number);
  /// A verdict when two machines of the same name host tasks of this gang or running tasks: those
  /// tasks would take one machine for the other.
  std::optional<Verdict> NameClash(int number) const;
  /// Marks the tasks of `released` as started: they are in the cluster spec and leave their gang.
  void Open(const decision::GangReleased& released);
  std::shared_ptr<const ClusterSpec> SpecWith(
      const std::shared_ptr<const ClusterSpec>& added) const;
  static Endpoint EndpointOf(const Task& task);
  /// True while the gang must wait for its earliest start time (`not_before`).
  bool HeldBack(int number, Gang& gang);
  void NotePartlyHeld();
  void SayWhichStageWaits();
  /// The clause "; train, which depends on prep, does not start"; empty when no type is concerned.
  std::string NeverStarted(const std::string& type) const;
  void CheckGroups();
  /// Makes the type untracked: the job no longer waits for it.
  void StopTracking(const std::string& type);
  /// Decides the verdict when no tracked task is left to wait for.
  void JudgeEnd();

  // The rendezvous of a Horovod job.
  /// True when the task's program may not start before the plan gives it a rank.
  bool AwaitsPlan(const Task& task) const;
  /// The driver while it has not planned the ranks yet; null otherwise.
  Task* PlanningDriver();
  void CheckPlanning();
  /// Records which ranked processes the others are waiting for.
  void SayWhoIsNotFound();
  /// Fails the attempt when a process that the others wait for has succeeded: it will never come.
  void CheckRendezvous();
  /// The tasks that the others wait for and that have already succeeded.
  std::vector<const Task*> EndedUnmet() const;
  std::string DescribeEndedUnmet() const;
  void FailDriver(Task& driver, const std::string& why);
  bool IsDriver(const Task& task) const;
  /// The meaning of the driver's end. A signal that ends tony's own driver counts as a loss, since
  /// nothing that the job's program says can end the driver that way; a driver that exited by
  /// itself has said why.
  TaskExit DriverExit(const TaskExit& exit) const;

  // Elastic jobs.
  const ElasticSettings* Elastic() const;
  bool IsElastic(const Task& task) const;
  /// True when the task is not part of the first gang.
  bool JoinsLater(const Task& task) const;
  /// True when the task's failure ends neither the attempt nor the job.
  bool GoesOnWithout(const Task& task) const;
  /// True when the task's program runs, or is starting because it has a rank in the present round.
  bool TakesPart(const Task& task) const;
  /// A worker that can only start in a later round; null when there is none.
  const Task* WaitsForRound() const;
  std::vector<ElasticMember> Members() const;
  /// Sends the member list to the driver if it has changed.
  void TellMembers();
  /// Forgets what the driver was told: the driver is a new one, or has a new stream.
  void ForgetTold();
  void AcceptRound(Task& driver, const RendezvousPlan& plan);
  /// Forms gangs for the workers that may join, which requests their containers.
  void InviteOthers();
  void LoseElastic(Task& task, const Verdict& failure);
  /// How long the task's host is left out after this failure.
  Duration Cooldown(const Task& task);
  void RestartElastic(Task& task, const decision::TasksRestarted& restarted);
  /// Stops the workers that do not take part yet: the job is ending, so they never will.
  void LetWaitingGo();

  /// The verdict on the task's failure. When the driver gave up waiting for processes, one of those
  /// is guilty.
  Verdict FailureOf(const Task& task) const;
  /// The verdict's sentence, with the rank of the task that it names.
  std::string WithRank(const Task& task, std::string sentence) const;
  /// The place in the plan. NotFound – no ranks are known, or the task has none.
  absl::StatusOr<Slot> PlaceOf(const Task& task) const;

  /// Starts every ready task that has a place in the plan.
  void StartPlanned();

  void Register(Task& task, int port, int visualization_port);
  void SendStart(std::vector<std::string> container_ids);
  void End(Task& task, const TaskExit& exit);
  /// True when the message belongs to the epoch and attempt for which the task was prepared last.
  template <typename Message>
  bool IsCurrent(const Task* task, const Message& message) const {
    return task != nullptr && message.epoch == epoch_ && message.attempt == task->attempt;
  }
  void OnTaskFailed(Task& task, const Verdict& what);
  /// Ends a container by force. The task stays bound to it until the backend reports its end.
  void Kill(Task& task);
  /// Tells the task's executor to shut down, and why.
  void Dismiss(Task& task, const std::string& why);
  /// Records a failure that counts. A failure that another one may have caused is judged a little
  /// later.
  void OnFailure(const Task& task, const Verdict& failure);
  /// Draws the consequence of the recorded failures: a verdict, or a restart with the scope of the
  /// guilty task.
  void Judge();
  void Restart(const Verdict& failure, const core::Restart& restart);
  void OpenEpoch(const decision::TasksRestarted& restarted);
  void RestartTasks(const decision::TasksRestarted& restarted);
  void ForgetFailures();
  /// Checks whether a failure reported after the verdict is the root cause of the others.
  void Reconsider(const Task& task);
  void Decide(Verdict verdict);
  void EndIfAllGone();
  void CheckAllocation();
  /// Gives the gang's containers back when the rest of them does not come.
  void YieldIfHeldForLong(int number, Gang& gang);
  void CheckRegistration();
  /// Extends all silence deadlines by the time in which this process itself did not run. True when
  /// there was such a time.
  bool ForgiveOwnAbsence();
  void CheckSilence();
  /// Gives up killed containers whose end the backend does not report.
  void CheckKilled();
  /// True while the task's lease may still be valid, so that its program may run wherever it is.
  bool MayRunOn(const Task& task) const;
  void CheckJudgement();
  void OnSilent(Task& task, Reason reason, const std::string& sentence);
  void CheckStopping();
  void SayWhoIsMissing();
  void SayWhoseRoomIsAwaited(int number, Gang& gang);
  /// Records a wait that says more than the job's state does.
  void Say(JobWaiting waiting);
  /// Ends the recorded wait when its reason is gone. A change of state does the same by itself.
  void UnsayIfOver();
  /// The task bound to the container, after noting that its executor is alive; null when there is
  /// none.
  Task* Heard(const std::string& container_id);
  /// Adds a decision to the journal, ahead of all other effects of this answer.
  template <typename Kind>
  void Note(Kind decision) {
    decisions_.push_back(std::move(decision));
  }
  template <typename Effect>
  void Do(Effect effect) {
    effects_.push_back(std::move(effect));
  }

  /// Why an executor whose task does not run again is told to go.
  static constexpr char kStageOver[] = "the task has succeeded, and its stage is over";

  JobDescription job_;
  SuccessPolicy policy_;
  StageGraph stages_;
  GroupDeadlines groups_;
  TaskTable tasks_;
  std::vector<bool> admitted_;     ///< by stage: it may start or has started
  std::set<std::string> settled_;  ///< types that have succeeded and do not run again
  int last_gang_ = 0;
  bool missing_ = false;            ///< some task may need a container requested
  bool progressed_ = false;         ///< the tasks that a stage waits for may have changed
  std::optional<JobWaiting> said_;  ///< the last recorded wait of a stage for others
  JobState state_ = JobState::kNew;
  int epoch_ = 0;
  RestartPolicy restarts_;
  std::optional<TimePoint> running_since_;  ///< newest start of programs in this epoch
  std::vector<TaskFailure> failures_;       ///< failures of this epoch, in the order reported
  std::vector<Verdict> failure_verdicts_;   ///< the verdict for each of `failures_`
  std::optional<TimePoint> judge_at_;       ///< when `failures_` are judged; set until then
  TimePoint now_;
  TimePoint started_at_;
  TimePoint state_since_;
  TimePoint checked_at_;  ///< when the deadlines were checked last
  std::optional<Verdict> verdict_;
  std::shared_ptr<const ClusterSpec> spec_;  ///< this epoch's spec; null until a gang was complete
  std::shared_ptr<const RendezvousPlan> plan_;       ///< this epoch's plan; null without one
  RendezvousWait rendezvous_wait_;                   ///< the last report of the driver
  TimePoint rendezvous_wait_since_;                  ///< when that report came
  bool said_planning_ = false;                       ///< the wait for the driver's plan is recorded
  bool members_changed_ = false;                     ///< the member list may have changed
  std::optional<effect::SendMembers> told_members_;  ///< last list sent to the attached driver
  bool finished_ = false;                            ///< elastic job: one worker has succeeded
  std::map<std::string, int> failures_on_;           ///< elastic job: number of failures by host id
  std::string last_loss_;  ///< elastic job: sentence of the last loss of a worker
  bool replayed_ = false;
  int awaited_back_ = 0;  ///< executors that the restarted ApplicationMaster still waits for
  std::optional<TimePoint> killed_stragglers_at_;
  bool said_who_ends_ = false;   ///< the wait of a stopping job is recorded
  bool said_wait_ = false;       ///< a wait was recorded by Say() and not ended yet
  std::string allocation_wait_;  ///< the backend's last reason why containers do not come
  Decisions decisions_;          ///< decisions of the input being applied
  JobEffects effects_;           ///< effects of the input being applied
};

}  // namespace tony::core
