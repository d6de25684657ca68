// Horovod's rendezvous: ranked programs start only after the driver's plan is accepted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/job/ranks.h"
#include "core/rendezvous/rendezvous_wait.h"
#include "core/rendezvous/slot_plan.h"

namespace tony::core {

/// Fails the driver or a rank when the rendezvous cannot complete. Not thread safe: owned by the
/// state machine.
class HorovodRanks : public Ranks {
 public:
  using Ranks::Ranks;

  void OnPlanned(Task& driver, const input::RanksPlanned& planned) override;
  void OnWait(Task& driver, const input::RendezvousWait& wait) override;
  void OnPlanReplayed(const decision::PlanAccepted& accepted) override;
  void OnEpochOpened() override;
  /// Ends the driver when nothing is left for it to do.
  void OnSettled() override;
  bool AwaitsPlan(const Task& task) const override;
  bool RankedRun() const override;
  std::optional<Verdict> NameClash(int gang) const override;
  /// A signal that ends tony's own driver counts as a loss, since nothing that the job's program
  /// says can end the driver that way; a driver that exited by itself has said why.
  TaskExit ExitOf(const Task& task, const TaskExit& exit) const override;
  bool FailIfNeeded(Task& task) override;
  /// When the driver gave up waiting for processes, one of those is guilty.
  Verdict FailureOf(const Task& task) const override;
  std::string WithRank(const Task& task, std::string sentence) const override;
  void CheckPlanning() override;
  void CheckRendezvous() override;
  void RecordWait() override;

 protected:
  /// The driver has sent this plan.
  virtual void Accept(Task& driver, const RendezvousPlan& plan);
  /// True when the plan is known already: on a new stream the driver repeats it.
  virtual bool IsRepeated(const Task& driver) { return &driver != PlanningDriver(); }
  /// The clause that says when the job fails for want of processes.
  virtual std::string WaitLimit() const;
  /// The sentence of the last loss of a process that the others went on without.
  virtual std::string LastLoss() const { return ""; }
  /// The task's slot in the plan. NotFound – no ranks are known, or the task has none.
  virtual absl::StatusOr<Slot> TaskSlot(const Task& task) const;

  /// Starts every ready task that has a place in the plan.
  void StartPlanned();
  void FailDriver(Task& driver, const std::string& why);
  void ForgetWait() { rendezvous_wait_ = {}; }
  /// What the driver reported last; empty: nobody waits.
  const std::string& wait_sentence() const { return rendezvous_wait_.sentence; }

 private:
  static bool IsDriver(const Task& task);
  /// The driver while it has not planned the ranks yet; null otherwise.
  Task* PlanningDriver();
  TaskExit DriverExit(const TaskExit& exit) const;
  /// Records which ranked processes the others are waiting for.
  void NoteMissingMachines();
  /// The tasks that the others wait for and that have already succeeded.
  std::vector<const Task*> EndedUnmet() const;
  std::string DescribeEndedUnmet() const;

  RendezvousWait rendezvous_wait_;   ///< the last report of the driver
  TimePoint rendezvous_wait_since_;  ///< when that report came
  bool planning_recorded_ = false;   ///< the wait for the driver's plan is recorded
};

}  // namespace tony::core
