// The events that followers of a job are shown: changes of state, and what the job waits for.
#pragma once

#include <string>

#include "core/job/job_run.h"

namespace tony::core {

struct JobParts;

/// Changes states and records each change. A recorded wait ends with the next change of the job's
/// state, or when its reason is gone. Not thread safe: owned by the state machine.
class JobRecord {
 public:
  JobRecord(JobRun& run, const JobParts& parts) : run_(run), parts_(parts) {}

  /// Moves the job along the edge that `trigger` names. Reports a fault, and changes nothing, when
  /// the table has no such edge.
  void Move(JobTrigger trigger, const std::string& sentence = "");
  void ChangeTask(Task& task, TaskState state, const std::string& sentence = "");
  /// Records that the job continues in its state, which also ends the wait that was shown before.
  void RecordContinues(const std::string& sentence);
  /// Records a wait that says more than the job's state does.
  void RecordWait(JobWaiting waiting);
  /// Records that the ranks of the job's programs wait for each other, or, without a sentence, that
  /// they go on.
  void RecordStall(const std::string& sentence);
  /// Records that something listens on the task's visualization port, or no longer does, unless the
  /// record says so already.
  void RecordVisualization(Task& task, bool listens);
  /// Ends the wait recorded by RecordWait() when its reason is gone. A change of state does the
  /// same by itself.
  void EndWaitIfOver();

 private:
  JobRun& run_;
  const JobParts& parts_;
  bool stall_recorded_ = false;  ///< a stall was recorded, and not its end
  bool wait_recorded_ = false;   ///< a wait was recorded by RecordWait() and not ended yet
};

}  // namespace tony::core
