// The state machine of one job: applies each input and returns the effects to carry out.
#pragma once

#include <memory>
#include <optional>

#include "common/clock.h"
#include "core/job/hang_rule.h"
#include "core/job/job_effect.h"
#include "core/job/job_input.h"
#include "core/job/job_run.h"
#include "core/job/silence_notes.h"

namespace tony::core {

struct JobParts;
struct OwnedParts;

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
  explicit JobMachine(JobDescription job, const HangSettings& hang = {});
  ~JobMachine();
  JobMachine(const JobMachine&) = delete;
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

  JobState state() const { return run_.state; }
  int epoch() const { return run_.epoch; }
  const TaskTable& tasks() const { return run_.tasks; }
  const std::optional<Verdict>& verdict() const { return run_.verdict; }
  const JobDescription& job() const { return run_.job; }

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
  void On(const input::TaskNote& note);
  void On(const input::TaskSilent& silent);
  void On(const input::VisualizationListener& listener);
  void On(const input::RanksPlanned& planned);
  void On(const input::RendezvousWait& wait);
  void On(const input::StacksKept& kept);
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
  void Begin();
  /// Continues after Replay(): reclaims the containers and requests the missing ones.
  void Resume(const input::Start& start);

  const std::unique_ptr<OwnedParts> owned_;
  JobRun& run_;
  const JobParts& parts_;
  SilenceNotes silence_notes_{run_};
  HangRule hang_rule_;
  bool replayed_ = false;
};

}  // namespace tony::core
