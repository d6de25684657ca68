// The deadlines of a job, checked on every Tick: each ends a wait with a sentence that names the
// missing tasks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/job/job_run.h"
#include "core/record/job_wait.h"

namespace tony::core {

struct JobParts;

/// Time in which this process itself did not run counts as no silence of anybody. Not thread safe:
/// owned by the state machine.
class JobDeadlines {
 public:
  JobDeadlines(JobRun& run, const JobParts& parts) : run_(run), parts_(parts) {}

  /// The deadlines count from now on.
  void Start() { checked_at_ = run_.now; }
  /// The next time at which Tick() has something to check; nullopt while no deadline runs.
  std::optional<TimePoint> NextDeadline() const;
  void Tick();

 private:
  /// Ends the job if its time is over, and tells whether it is.
  bool EndIfOverdue();
  /// Checks what is awaited of each container: that it comes, registers, is heard of and goes. The
  /// first check that ends the job is the last one.
  void CheckContainers();
  /// Checks what the tasks do together: the plan of their ranks, the rendezvous, a postponed
  /// judgement, groups. The first check that ends the job is the last one. `was_absent`: the result
  /// of ForgiveOwnAbsence(); after an absence the rendezvous and the groups are not checked.
  void CheckTogether(bool was_absent);
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
  /// Ends the job, or stops waiting for a type, that has not ended in time after others.
  void CheckGroups();
  /// Makes the type untracked: the job no longer waits for it.
  void StopTracking(const std::string& type);
  /// Records, once per wait, which tasks a gang or the end of the job waits for.
  void RecordMissing();
  /// The tasks that one record of a gang's missing tasks is about: those of the gang or, where each
  /// task is a gang of its own, all that have a container and have not started. Marks their gangs.
  std::vector<AwaitedTask> RecordedTogether(int number);
  void RecordRoomWait(int number, Gang& gang);

  JobRun& run_;
  const JobParts& parts_;
  TimePoint checked_at_;          ///< when the deadlines were checked last
  bool ending_recorded_ = false;  ///< the wait of a stopping job is recorded
};

}  // namespace tony::core
