// The executors of a job: messages to them, and those that a restarted ApplicationMaster awaits.
#pragma once

#include <string>
#include <vector>

#include "core/job/job_run.h"

namespace tony::core {

struct JobParts;

/// Not thread safe: owned by the state machine.
class Executors {
 public:
  Executors(JobRun& run, const JobParts& parts) : run_(run), parts_(parts) {}

  /// The task bound to the container, after noting that its executor is alive; null when there is
  /// none, and then the executor is told to shut down.
  Task* Heard(const std::string& container_id);
  /// Ends a container by force. The task stays bound to it until the backend reports its end.
  void Kill(Task& task);
  /// Tells the task's executor to shut down, and why.
  void Dismiss(Task& task, const std::string& why);
  /// Gives the containers' executors the cluster spec and lets them start the programs.
  void SendStart(std::vector<std::string> container_ids);
  /// Waits for `count` executors to attach to this ApplicationMaster, which was restarted.
  void AwaitBack(int count) { awaited_back_ = count; }
  /// Call when the task's executor has attached again, or is known never to.
  void NoLongerAwaited(Task& task);
  /// The number of executors that this restarted ApplicationMaster still waits for.
  int awaited_back() const { return awaited_back_; }

 private:
  JobRun& run_;
  const JobParts& parts_;
  int awaited_back_ = 0;
};

}  // namespace tony::core
