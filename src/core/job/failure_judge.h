// Failures of a job's tasks: finds the guilty one, and restarts tasks, opens an epoch or decides
// the verdict.
#pragma once

#include <vector>

#include "core/job/job_run.h"
#include "core/judge/restart_policy.h"
#include "core/judge/root_cause.h"

namespace tony::core {

struct JobParts;

/// Keeps the failures of the present epoch. Not thread safe: owned by the state machine.
class FailureJudge {
 public:
  FailureJudge(JobRun& run, const JobParts& parts) : run_(run), parts_(parts), restarts_(run.job) {}

  /// The task's run has failed; `what` is the verdict if nothing else is guilty.
  void OnTaskFailed(Task& task, const Verdict& what);
  /// Records a failure that counts. A failure that another one may have caused is judged a little
  /// later.
  void OnFailure(const Task& task, const Verdict& failure);
  /// Judges the recorded failures when their time has come.
  void CheckJudgement();
  /// Decides the verdict when no tracked task is left to wait for.
  void JudgeEnd();
  /// Checks whether a failure reported after the verdict is the root cause of the others.
  void Reconsider(const Task& task);
  /// Starts every task of the admitted stages again, in a new epoch.
  void OpenEpoch(const decision::TasksRestarted& restarted, bool lost = false,
                 const std::string& error = "");
  /// Starts some tasks again, in this epoch.
  void RestartTasks(const decision::TasksRestarted& restarted);
  /// The budgets after the restarts so far.
  const RestartState& budgets() const { return restarts_.state(); }
  void RestoreBudgets(const RestartState& budgets) { restarts_.Restore(budgets); }

 private:
  /// Draws the consequence of the recorded failures: a verdict, or a restart with the scope of the
  /// guilty task.
  void Judge();
  void Restart(const Verdict& failure, const core::Restart& restart);
  void ForgetFailures();
  /// "; worker:1 had ended 0.4s before, with code 0", for a failure that may be the consequence of
  /// that; empty: nobody had.
  std::string EndedBefore(const Task& task) const;

  JobRun& run_;
  const JobParts& parts_;
  RestartPolicy restarts_;
  std::vector<TaskFailure> failures_;      ///< failures of this epoch, in the order reported
  std::vector<Verdict> failure_verdicts_;  ///< the verdict for each of `failures_`
};

}  // namespace tony::core
