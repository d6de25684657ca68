// The steps of one task: bound to a container, registered, ended, lost, and attached again.
#pragma once

#include <string>

#include "core/job/job_input.h"
#include "core/job/job_run.h"

namespace tony::core {

struct JobParts;

/// Not thread safe: owned by the state machine.
class TaskSteps {
 public:
  TaskSteps(JobRun& run, const JobParts& parts) : run_(run), parts_(parts) {}

  void Bind(Task& task, const Container& container);
  void Register(Task& task, int port, int visualization_port);
  /// The task's run has ended, or could not begin.
  void End(Task& task, const TaskExit& exit);
  /// The backend reports the end of a container, or the state machine gives one up.
  void ContainerGone(const input::ContainerEnded& ended);
  /// Nothing is heard of the task's executor any more: its container is killed.
  void OnSilent(Task& task, Reason reason, const std::string& sentence);
  /// True while the task's lease may still be valid, so that its program may run wherever it is.
  bool MayRunOn(const Task& task) const;
  /// Reconciles the replayed state with an executor that attached again.
  void Rejoin(Task& task, const input::HeldTask& held);

 private:
  /// The end of a container while the job stops: nothing replaces the task. `lost`: the container
  /// was lost, which `what` describes. It counts as the task's exit unless it was expected.
  void GoneAfterVerdict(Task& task, bool lost, const std::string& what);

  JobRun& run_;
  const JobParts& parts_;
};

}  // namespace tony::core
