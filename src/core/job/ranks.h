// What a job whose processes have ranks adds to the state machine; this class adds nothing.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/job/job_input.h"
#include "core/job/job_run.h"

namespace tony::core {

struct JobParts;

/// The base serves jobs without ranks: every program starts with its gang, and every failure
/// counts. Not thread safe: owned by the state machine.
class Ranks {
 public:
  Ranks(JobRun& run, const JobParts& parts) : run_(run), parts_(parts) {}
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  // Messages of the task that says it is the driver.
  virtual void OnPlanned(Task& /*driver*/, const input::RanksPlanned& /*planned*/) {}
  virtual void OnWait(Task& /*driver*/, const input::RendezvousWait& /*wait*/) {}
  virtual void OnPlanReplayed(const decision::PlanAccepted& /*accepted*/) {}
  /// The driver is a new one, or has a new stream.
  virtual void OnDriverAttached() {}
  virtual void OnEpochOpened() {}
  /// The program of the task has ended well.
  virtual void OnSucceeded(const Task& /*task*/) {}
  /// Some types have succeeded and do not run again.
  virtual void OnSettled() {}

  /// True when the task's program may not start before the plan gives it a rank.
  virtual bool AwaitsPlan(const Task& /*task*/) const { return false; }
  /// True until all processes with a rank have succeeded.
  virtual bool RankedRun() const { return false; }
  /// True when the task is not part of the first gang.
  virtual bool JoinsLater(const Task& /*task*/) const { return false; }
  /// True when the task's failure ends neither the attempt nor the job.
  virtual bool GoesOnWithout(const Task& /*task*/) const { return false; }
  /// A task without which the others go on has failed: it starts again alone.
  virtual void Lose(Task& /*task*/, const Verdict& /*failure*/) {}
  virtual void RestartAlone(Task& /*task*/, const decision::TasksRestarted& /*restarted*/) {}
  /// Records a note about a task without which the others go on.
  virtual void NoteLoss(std::string sentence) {
    run_.Do(effect::Record{JobNote{std::move(sentence)}});
  }
  /// A verdict when two machines of the same name host tasks of this gang or running tasks: those
  /// tasks would take one machine for the other.
  virtual std::optional<Verdict> NameClash(int /*gang*/) const { return std::nullopt; }

  /// The meaning of the task's end.
  virtual TaskExit ExitOf(const Task& /*task*/, const TaskExit& exit) const { return exit; }
  /// Fails the task when others still need it, although its program has ended well; true then.
  virtual bool FailIfNeeded(Task& /*task*/) { return false; }
  /// The verdict on the task's failure.
  virtual Verdict FailureOf(const Task& task) const { return SuccessPolicy::FailureOf(task); }
  /// The verdict's sentence, with the rank of the task that it names.
  virtual std::string WithRank(const Task& /*task*/, std::string sentence) const {
    return sentence;
  }

  /// Fails the driver when it has not planned the ranks in time.
  virtual void CheckPlanning() {}
  /// Fails the attempt when a process that the others wait for has succeeded: it will never come.
  virtual void CheckRendezvous() {}
  /// Records again which processes the others wait for, if any.
  virtual void RecordWait() {}
  /// Sends the member list to the driver if it has changed.
  virtual void SendMembersIfChanged() {}

 protected:
  JobRun& run_;
  const JobParts& parts_;
};

}  // namespace tony::core
