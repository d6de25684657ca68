// Stages and gangs of a job: which tasks may start, which containers are requested, and which
// programs start together.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/job/job_run.h"
#include "core/schedule/stage_graph.h"

namespace tony::core {

struct JobParts;

/// A stage is admitted when its dependencies are fulfilled, and is gathered as one gang. Programs
/// of a gang start when all its tasks have registered, and not before the gang's earliest start. In
/// a job whose tasks are first come, first served, each task is a gang of its own.
/// Not thread safe: owned by the state machine.
class GangScheduler {
 public:
  GangScheduler(JobRun& run, const JobParts& parts);

  /// Why an executor whose task does not run again is told to go.
  static constexpr char kStageOver[] = "the task has succeeded, and its stage is over";

  void AdmitStages();
  /// Call when all tasks of a type may have succeeded, or been started.
  void OnProgress();
  /// True when the type has succeeded and does not run again.
  bool Settled(const Task& task) const { return settled_.count(task.id.type) > 0; }
  /// True when the type's stage may start or has started.
  bool Admitted(const std::string& type) const { return admitted_[stages_.StageOf(type)]; }
  const std::set<std::string>& settled() const { return settled_; }
  /// Marks the type as settled; false when it was already.
  bool Settle(const std::string& type) { return settled_.insert(type).second; }
  /// Makes `members` a gang, or each of them one: they start together, and not before `delay` has
  /// passed.
  void FormGang(const std::vector<Task*>& members, Duration delay);
  /// Requests a container for every task that is to start and has none.
  void RequestMissing();
  /// Notes since when each gang has some of its containers, but not all.
  void NotePartlyHeld();
  /// True while containers of the tracked types that the task's stage depends on are still there:
  /// the stage takes their place.
  bool AwaitsRoom(const Task& task) const;
  /// Starts the programs of each gang that is complete.
  void ReleaseGangs();
  /// Marks the tasks of `released` as started: they are in the cluster spec and leave their gang.
  void Open(const decision::GangReleased& released);
  /// Sends the start of the task's program again, which may have been lost.
  void StartAgain(const Task& task);
  static Endpoint EndpointOf(const Task& task);
  /// Records which stage waits for which others, when that may have changed.
  void RecordStageWait();
  /// The clause "; train, which depends on prep, does not start"; empty when no type is concerned.
  std::string NeverStarted(const std::string& type) const;

 private:
  JobProgress Progress() const;
  void AddGang(const std::vector<Task*>& members, Duration delay);
  bool IsFirstComeServed() const { return run_.job.mode == DistributedMode::kFirstComeServed; }
  /// Gives up the containers of types that have succeeded and will not run again.
  void SettleTypes();
  void Release(int number);
  std::shared_ptr<const ClusterSpec> SpecWith(
      const std::shared_ptr<const ClusterSpec>& added) const;
  /// True while the gang must wait for its earliest start time (`not_before`).
  bool HeldBack(int number, Gang& gang);

  JobRun& run_;
  const JobParts& parts_;
  const StageGraph stages_;
  std::vector<bool> admitted_;     ///< by stage: it may start or has started
  std::set<std::string> settled_;  ///< types that have succeeded and do not run again
  int last_gang_ = 0;
};

}  // namespace tony::core
