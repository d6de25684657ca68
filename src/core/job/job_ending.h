// The verdict of a job, and its end once no container is left.
#pragma once

#include <optional>

#include "core/job/job_run.h"

namespace tony::core {

struct JobParts;

/// The first verdict stands, except that FailureJudge may name another guilty task. Not thread
/// safe: owned by the state machine.
class JobEnding {
 public:
  JobEnding(JobRun& run, const JobParts& parts) : run_(run), parts_(parts) {}

  /// Every executor is told to end. The first verdict stands.
  void Decide(Verdict verdict);
  /// Ends the job when no container is left after the verdict.
  void EndIfAllGone();
  /// Kills the executors that did not end in time, and later gives them up.
  void CheckStopping();
  /// True when the executors that did not end in time have been killed.
  bool killed_stragglers() const { return killed_stragglers_at_.has_value(); }

 private:
  JobRun& run_;
  const JobParts& parts_;
  std::optional<TimePoint> killed_stragglers_at_;
};

}  // namespace tony::core
