// The executors of a job and their containers: every change of a binding, and messages to them.
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
  /// Requests a container for the task. The caller sends the request.
  void Request(Task& task);
  /// Forgets all requests: no container is requested for any task.
  void CancelRequests();
  void Bind(Task& task, const Container& container);
  /// The container is gone, or is given up.
  void Unbind(Task& task);
  /// The task's executor has opened a stream.
  void Attach(Task& task);
  /// The stream has closed. The executor has to attach again within `timeouts.reconnect`.
  void Detach(Task& task);
  /// An earlier ApplicationMaster launched the container. Its executor has to attach to this one
  /// within `timeouts.reattach`.
  void Reclaim(Task& task);
  /// Ends a container by force. The task stays bound to it until the backend reports its end.
  void Kill(Task& task);
  /// Ignores the executor from here on: the backend is to report the container's end by itself.
  void Ignore(Task& task);
  /// Tells the task's executor to shut down, and why. `keep_stacks`: as in effect::SendShutdown.
  void Dismiss(Task& task, const std::string& why, bool keep_stacks = false);
  /// Gives the containers' executors the cluster spec and lets them start the programs.
  void SendStart(std::vector<std::string> container_ids);

 private:
  /// Reports an edge that the table of bindings lacks. Records the end of the wait after a restart
  /// of the ApplicationMaster, when the last executor has attached or is known never to.
  void Change(Task& task, BindingTrigger trigger, const Container& container = {});

  JobRun& run_;
  const JobParts& parts_;
};

}  // namespace tony::core
