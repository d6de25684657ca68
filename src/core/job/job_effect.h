// What the job's state machine wants done: data, run by the ApplicationMaster's shell in the order
// given.
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

/// Keep these decisions where a later ApplicationMaster finds them. The first of the effects that
/// follow from one input: nothing is done that is not known.
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

/// Give back what ended containers have left, beyond what is asked for.
struct GiveBackSpare {};

/// Take back what was asked for and not granted.
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

/// Tell an executor that attached again who the ApplicationMaster is now, and that it is to go on.
struct SendReattached {
  std::string container_id;
};

/// Tell an executor that its sign of life has come: for the time of the lease after it was sent,
/// the task is not given away.
struct AnswerHeartbeat {
  std::string container_id;
  int64_t sent = 0;  ///< as the heartbeat says
};

/// Tell an executor to end what runs and to register for `epoch`.
struct SendPrepare {
  std::string container_id;
  int epoch = 0;
  int attempt = 0;
  bool keep_ports = false;  ///< others know them already
};

/// Give all of `container_ids` the cluster spec and let them start the user's process.
struct SendStart {
  std::vector<std::string> container_ids;
  int epoch = 0;
  std::shared_ptr<const ClusterSpec> spec;
  std::shared_ptr<const RendezvousPlan> plan;  ///< of a Horovod job; null before there is one
};

/// Tell an elastic job's driver which processes there are, or may be started.
struct SendMembers {
  std::string container_id;
  int epoch = 0;
  int attempt = 0;
  std::vector<ElasticMember> members;
  bool finished = false;  ///< one has ended well
};

/// Tell an executor to end what runs and to exit.
struct SendShutdown {
  std::string container_id;
  std::string reason;
};

/// End a container by force, or give it back when nothing was launched in it.
struct KillContainer {
  std::string container_id;
};

/// Append to the job's history and show to whoever follows.
struct Record {
  JobEventBody body;
};

/// Show the newest measurement of a running task to whoever looks, in place of the one before. It
/// is no part of the history: what every heartbeat adds must not be kept.
struct ShowMeasurement {
  TaskMeasured measured;
};

/// Nothing of the job is left; the ApplicationMaster may exit.
struct Finish {
  Verdict verdict;
};

}  // namespace effect

using JobEffect =
    std::variant<effect::Journal, effect::ReclaimContainers, effect::RequestContainers,
                 effect::GiveBackSpare, effect::CancelRequests, effect::LaunchExecutor,
                 effect::SendAssignment, effect::SendReattached, effect::AnswerHeartbeat,
                 effect::SendPrepare, effect::SendStart, effect::SendMembers, effect::SendShutdown,
                 effect::KillContainer, effect::Record, effect::ShowMeasurement, effect::Finish>;
using JobEffects = std::vector<JobEffect>;

}  // namespace tony::core
