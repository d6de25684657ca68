// The effects that a job's state machine returns: data that the ApplicationMaster's shell carries
// out in the given order.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/job/job_decision.h"
#include "core/model/cluster_spec.h"
#include "core/ports/cluster_backend.h"
#include "core/record/job_event.h"
#include "core/rendezvous/elastic_rounds.h"
#include "core/rendezvous/worker_hosts.h"

namespace tony::core {

namespace effect {

/// Write these decisions to the journal, where a later ApplicationMaster finds them. Journal is the
/// first effect of an input, so nothing is done before its decision is recorded.
struct Journal {
  Decisions decisions;
};

/// Find the containers that were granted to earlier ApplicationMasters of the job.
struct ReclaimContainers {
  std::vector<Container> containers;
};

/// Ask the backend for containers.
struct RequestContainers {
  std::vector<ContainerRequest> requests;
};

/// Give back the room that ended containers left, beyond the open requests.
struct GiveBackSpare {};

/// Cancel the requests that were not granted yet.
struct CancelRequests {};

/// Start the executor of a task in a granted container.
struct LaunchExecutor {
  std::string container_id;
  TaskId task;
};

/// Tell an executor which task is its own.
struct SendAssignment {
  std::string container_id;
  TaskId task;
};

/// Tell an executor that attached again which ApplicationMaster serves it now, and to keep running.
struct SendReattached {
  std::string container_id;
};

/// Confirm an executor's heartbeat: until one lease after it was sent, the task is not given away.
struct AnswerHeartbeat {
  std::string container_id;
  int64_t sent = 0;  ///< copied from the heartbeat
};

/// Tell an executor to end what runs and to register for `epoch`.
struct SendPrepare {
  std::string container_id;
  int epoch = 0;
  int attempt = 0;
  bool keep_ports = false;  ///< other tasks know them already
};

/// Give all of `container_ids` the cluster spec and let them start the user's process.
struct SendStart {
  std::vector<std::string> container_ids;
  int epoch = 0;
  std::shared_ptr<const ClusterSpec> spec;
  std::shared_ptr<const RendezvousPlan> plan;  ///< Horovod job only; null before there is a plan
};

/// Tell an elastic job's driver which processes exist or may be started.
struct SendMembers {
  std::string container_id;
  int epoch = 0;
  int attempt = 0;
  std::vector<ElasticMember> members;
  bool finished = false;  ///< one worker has succeeded
};

/// Tell an executor to end what runs and to exit.
struct SendShutdown {
  std::string container_id;
  std::string reason;
  bool keep_stacks = false;  ///< its program takes too long: first keep the stacks of it
};

/// End a container by force, or give it back when no executor was launched in it.
struct KillContainer {
  std::string container_id;
};

/// Append an event to the job's history and show it to every follower.
struct Record {
  JobEventBody body;
};

/// Show the newest measurement of a running task in place of the previous one. It is not part of
/// the history, which must not grow with every heartbeat.
struct ShowMeasurement {
  TaskMeasured measured;
  std::vector<TaskUsage> earlier = {};  ///< those that arrived with it, oldest first
};

/// Take the stacks of all tasks, keep them with the job's logs, and record a note that begins with
/// `why`.
struct KeepStacks {
  std::string why;
  bool again = false;  ///< a second time, to see what has moved
};

/// A part of the state machine asked for a change that its table lacks. Nothing was changed. It is
/// a fault of tony, which the ApplicationMaster logs.
struct ReportFault {
  std::string sentence;
};

/// No container of the job is left; the ApplicationMaster may exit.
struct Finish {
  Verdict verdict;
};

}  // namespace effect

using JobEffect =
    std::variant<effect::Journal, effect::ReclaimContainers, effect::RequestContainers,
                 effect::GiveBackSpare, effect::CancelRequests, effect::LaunchExecutor,
                 effect::SendAssignment, effect::SendReattached, effect::AnswerHeartbeat,
                 effect::SendPrepare, effect::SendStart, effect::SendMembers, effect::SendShutdown,
                 effect::KillContainer, effect::Record, effect::ShowMeasurement, effect::KeepStacks,
                 effect::ReportFault, effect::Finish>;
using JobEffects = std::vector<JobEffect>;

}  // namespace tony::core
