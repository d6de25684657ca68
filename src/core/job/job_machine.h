// A job's life as a pure state machine: told what happened, it answers what to do.
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

/// The states and their transitions are drawn in job_state.h. How a job runs:
///  1. Start asks for all containers of the first stage at once: of everything, in a job without
///     order. Each that is granted is bound to the next task of its type and its executor is
///     launched at once; the gang gates later.
///  2. An executor that attaches is told its task, and to prepare for the current epoch.
///  3. When every task of the gang has registered for the epoch, all get one cluster spec and start
///     the user's process. Until then the failure of any task fails the attempt, whatever its type:
///     the gang cannot be complete without it.
///  4. A stage whose dependencies are fulfilled (StageGraph) is a gang of its own, while the job is
///     RUNNING; its containers are asked for when those of the tracked types that it depends on are
///     gone. Its spec has its own tasks, and those of other stages that were started before it,
///     without types whose tasks have all succeeded. What has succeeded does not run again once its
///     whole stage has, or anything that depends on it may start: its executors are told to go.
///  5. Ends of tasks are judged by SuccessPolicy, who is guilty of several failures by RootCauseOf,
///     and what follows by RestartPolicy, as long as the budgets last: a new epoch, for which every
///     executor ends its process tree and registers again with new ports, and lost containers are
///     asked for anew; or some tasks start again in this epoch, in their containers, at their old
///     ports. In a new epoch all stages that had begun start together.
///  6. An executor whose stream broke goes on with what it runs, and says so in its next stream;
///     what was said meanwhile is made up for. One that does not come back in time counts as lost.
///  7. A type that has not ended in time after a group of others (GroupDeadlines) ends the job, or
///     is waited for no longer.
///  8. Every decision is in the answer before what follows from it. Replay() brings another machine
///     to where this one was, and Start goes on from there.
///  9. A container that was killed is waited for until the backend reports its end; after
///     container_kill its task gets another one all the same.
/// 10. With a verdict all executors are told to shut down; those that do not within kill_grace +
///     shutdown are killed. The job ends when no container is left, or when those killed are not
///     reported gone either.
/// 11. In a Horovod job the driver and the workers are one gang, but of those that have a rank no
///     program starts before the driver has said which. It has driver_start for that.
/// 12. In an elastic one the driver is told of all processes that there are, or could be, and says
///     in rounds who takes part. Workers beyond the first are asked for one by one; one that fails
///     is prepared again, each time after a longer while, and costs no budget. When one has ended
///     well nobody joins any more.
/// Messages of another epoch, or of a container that is no longer bound, change nothing; an
/// executor that speaks for such a container is told to shut down. Not thread safe: owned by the
/// event loop. Does no I/O.
class JobMachine {
 public:
  explicit JobMachine(JobDescription job);
  JobMachine(const JobMachine&) = delete;  // tasks point into the description
  JobMachine& operator=(const JobMachine&) = delete;

  /// Takes over what an earlier ApplicationMaster decided at `at`. In their order, before the first
  /// input.
  void Replay(const Decision& decision, TimePoint at);
  /// Takes over the newest measurement of a run that may go on, after Replay(): should it have
  /// ended meanwhile, that is what is known of it. One of another run changes nothing.
  void Remember(const TaskMeasured& measured);
  /// Takes one input and returns what is to be done, in order.
  JobEffects Apply(const JobInput& input, TimePoint now);
  /// When Apply(Tick) has something to look at; nothing while no deadline runs.
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
  /// Goes on after Replay(): finds the containers again, asks for what is missing.
  void Resume(const input::Start& start);
  void Rejoin(Task& task, const input::HeldTask& held);
  /// Its executor is back, or it is known that it never will be.
  void NoLongerAwaited(Task& task);

  bool Move(JobTrigger trigger, const std::string& sentence = "");
  void ChangeTask(Task& task, TaskState state, const std::string& sentence = "");
  /// Says that the job goes on in its state, and with that that a wait is over.
  void SayGoesOn(const std::string& sentence);
  void Bind(Task& task, const Container& container);

  // Stages and gangs.
  void Begin();
  JobProgress Progress() const;
  /// Takes in that a type's tasks have all succeeded, or were started.
  void OnProgress();
  void AdmitStages();
  /// What has succeeded and will not run again lets its containers go.
  void SettleTypes();
  /// Of a Horovod job: not all processes that have a rank have ended well.
  bool RankedRun() const;
  /// Nothing is left for a Horovod job's driver to do.
  void SettleDriver();
  bool Settled(const Task& task) const { return settled_.count(task.id.type) > 0; }
  /// They are to start together, and not before `delay` has passed.
  void FormGang(const std::vector<Task*>& members, Duration delay);
  /// Asks for the containers of all who are to start and have none.
  void RequestMissing();
  /// Whether containers that its stage takes the place of are still there.
  bool AwaitsRoom(const Task& task) const;
  void ReleaseGangs();
  void Release(int number);
  /// Two machines with one name, where tasks of the gang or others run: they would take each other
  /// for one.
  std::optional<Verdict> NameClash(int number) const;
  /// The tasks of `released` may start: they are in the cluster spec, and in no gang.
  void Open(const decision::GangReleased& released);
  std::shared_ptr<const ClusterSpec> SpecWith(
      const std::shared_ptr<const ClusterSpec>& added) const;
  static Endpoint EndpointOf(const Task& task);
  /// Whether the gang has to wait for its time.
  bool HeldBack(int number, Gang& gang);
  void NotePartlyHeld();
  void SayWhichStageWaits();
  /// "; train, which depends on prep, does not start", or nothing.
  std::string NeverStarted(const std::string& type) const;
  void CheckGroups();
  /// Nobody waits for the type any longer.
  void StopTracking(const std::string& type);
  /// The verdict, where no tracked task is left to wait for.
  void JudgeEnd();

  // The rendezvous of a Horovod job.
  /// Its program may not start before there is a plan.
  bool AwaitsPlan(const Task& task) const;
  /// The driver runs, and has not said yet who has which rank.
  Task* PlanningDriver();
  void CheckPlanning();
  /// Puts on record for whom processes wait that have a rank.
  void SayWhoIsNotFound();
  /// One that is waited for and has ended well will never come.
  void CheckRendezvous();
  /// Of those who are waited for: who has ended well.
  std::vector<const Task*> EndedUnmet() const;
  std::string DescribeEndedUnmet() const;
  void FailDriver(Task& driver, const std::string& why);
  bool IsDriver(const Task& task) const;
  /// What its end means: tony's own driver that a signal ended was lost, since no word of the
  /// job's program ends it; one that ended by itself has said why.
  TaskExit DriverExit(const TaskExit& exit) const;

  // Elastic jobs.
  const ElasticSettings* Elastic() const;
  bool IsElastic(const Task& task) const;
  /// It has no part in the first gang.
  bool JoinsLater(const Task& task) const;
  /// Its failure ends nothing.
  bool GoesOnWithout(const Task& task) const;
  /// The task's program runs, or has a rank in the present round and starts.
  bool TakesPart(const Task& task) const;
  /// A worker that can only start in another round; null when there is none.
  const Task* WaitsForRound() const;
  std::vector<ElasticMember> Members() const;
  /// Tells the driver, when it has changed.
  void TellMembers();
  /// The driver is another one, or on another stream.
  void ForgetTold();
  void AcceptRound(Task& driver, const RendezvousPlan& plan);
  /// Asks for those who may join.
  void InviteOthers();
  void LoseElastic(Task& task, const Verdict& failure);
  /// How long its host is left out after this failure.
  Duration Cooldown(const Task& task);
  void RestartElastic(Task& task, const decision::TasksRestarted& restarted);
  /// The job is coming to its end: those who do not take part yet never will.
  void LetWaitingGo();

  /// That of a driver that waited for others in vain is theirs.
  Verdict FailureOf(const Task& task) const;
  /// The verdict's sentence, with the rank of the one that it is about.
  std::string WithRank(const Task& task, std::string sentence) const;
  /// Nothing: it is none of the processes.
  absl::StatusOr<Slot> PlaceOf(const Task& task) const;

  /// Starts all who are ready, and have a place in the plan.
  void StartPlanned();

  void Register(Task& task, int port, int visualization_port);
  void SendStart(std::vector<std::string> container_ids);
  void End(Task& task, const TaskExit& exit);
  /// Whether the message is of what the task was prepared for last.
  template <typename Message>
  bool IsCurrent(const Task* task, const Message& message) const {
    return task != nullptr && message.epoch == epoch_ && message.attempt == task->attempt;
  }
  void OnTaskFailed(Task& task, const Verdict& what);
  /// Ends a container by force. The task stays bound to it until the backend says that it is gone.
  void Kill(Task& task);
  /// Tells its executor to go, and why.
  void Dismiss(Task& task, const std::string& why);
  /// A failure that counts. One that may be the victim of another is judged a little later.
  void OnFailure(const Task& task, const Verdict& failure);
  /// What follows from the failures: a verdict, or a restart of what the guilty one's scope says.
  void Judge();
  void Restart(const Verdict& failure, const core::Restart& restart);
  void OpenEpoch(const decision::TasksRestarted& restarted);
  void RestartTasks(const decision::TasksRestarted& restarted);
  void ForgetFailures();
  /// A failure that is heard of after the verdict may be the one that all others came from.
  void Reconsider(const Task& task);
  void Decide(Verdict verdict);
  void EndIfAllGone();
  void CheckAllocation();
  /// Gives the gang's containers back when the rest does not come.
  void YieldIfHeldForLong(int number, Gang& gang);
  void CheckRegistration();
  /// True when there was one.
  bool ForgiveOwnAbsence();
  void CheckSilence();
  /// Containers whose end nobody reports are given up.
  void CheckKilled();
  /// Whether its executor may still count on the task, wherever that is.
  bool MayRunOn(const Task& task) const;
  void CheckJudgement();
  void OnSilent(Task& task, Reason reason, const std::string& sentence);
  void CheckStopping();
  void SayWhoIsMissing();
  void SayWhoseRoomIsAwaited(int number, Gang& gang);
  /// Puts a wait on record that says more than the job's state.
  void Say(JobWaiting waiting);
  /// Takes back what was said when nothing of it is left. A change of state does so by itself.
  void UnsayIfOver();
  /// The task bound to the container, having noted that its executor is alive; null when none is.
  Task* Heard(const std::string& container_id);
  /// Puts a decision on record, before everything that this answer has done.
  template <typename Kind>
  void Note(Kind decision) {
    decisions_.push_back(std::move(decision));
  }
  template <typename Effect>
  void Do(Effect effect) {
    effects_.push_back(std::move(effect));
  }

  /// Why an executor goes whose task does not run again.
  static constexpr char kStageOver[] = "the task has succeeded, and its stage is over";

  JobDescription job_;
  SuccessPolicy policy_;
  StageGraph stages_;
  GroupDeadlines groups_;
  TaskTable tasks_;
  std::vector<bool> admitted_;     ///< by stage: it may start, or has
  std::set<std::string> settled_;  ///< types that have succeeded and do not run again
  int last_gang_ = 0;
  bool missing_ = false;            ///< somebody may have to be asked for
  bool progressed_ = false;         ///< who is waited for may have changed
  std::optional<JobWaiting> said_;  ///< which stage waits, and for whom
  JobState state_ = JobState::kNew;
  int epoch_ = 0;
  RestartPolicy restarts_;
  std::optional<TimePoint> running_since_;  ///< newest start of programs in this epoch
  std::vector<TaskFailure> failures_;       ///< of this epoch, as they were reported
  std::vector<Verdict> failure_verdicts_;   ///< of each of them
  std::optional<TimePoint> judge_at_;       ///< while the failures are not judged yet
  TimePoint now_;
  TimePoint started_at_;
  TimePoint state_since_;
  TimePoint checked_at_;  ///< when the deadlines were looked at last
  std::optional<Verdict> verdict_;
  std::shared_ptr<const ClusterSpec> spec_;          ///< of this epoch, once a gang was complete
  std::shared_ptr<const RendezvousPlan> plan_;       ///< of this epoch, once the driver has said it
  RendezvousWait rendezvous_wait_;                   ///< as the driver said last
  TimePoint rendezvous_wait_since_;                  ///< when it was said
  bool said_planning_ = false;                       ///< that the driver is waited for
  bool members_changed_ = false;                     ///< or may have
  std::optional<effect::SendMembers> told_members_;  ///< to the driver that is attached
  bool finished_ = false;                            ///< in an elastic job one has ended well
  std::map<std::string, int> failures_on_;           ///< host ids, of an elastic job's workers
  std::string last_loss_;                            ///< in an elastic job: why it shrank last
  bool replayed_ = false;
  int awaited_back_ = 0;  ///< executors that the restarted ApplicationMaster waits for
  std::optional<TimePoint> killed_stragglers_at_;
  bool said_who_ends_ = false;   ///< after the verdict
  bool said_wait_ = false;       ///< by Say(), and not taken back
  std::string allocation_wait_;  ///< why containers do not come, as the backend said last
  Decisions decisions_;          ///< of the input being applied
  JobEffects effects_;           ///< of the input being applied
};

}  // namespace tony::core
