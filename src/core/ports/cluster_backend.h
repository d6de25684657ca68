// The port through which the ApplicationMaster requests, uses and gives back containers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/job_description.h"

namespace tony::core {

/// A request for `count` equal containers for the tasks of one type.
struct ContainerRequest {
  std::string type;
  int count = 0;
  Resources resources;  ///< of each container

  bool operator==(const ContainerRequest&) const = default;
};

/// The identity of a container's tony-executor process on its machine. The kernel reuses pids, but
/// never with the same start time.
struct ExecutorProcess {
  int64_t pid = 0;          ///< 0: not known
  int64_t start_ticks = 0;  ///< start time by the kernel's clock, since boot

  bool operator==(const ExecutorProcess&) const = default;
};

/// A container that was granted to this job.
struct Container {
  std::string id;         ///< unique among all containers of the backend, e.g. "JOB-c0003"
  std::string type;       ///< type of the request that it answers
  std::string host;       ///< address at which the other tasks reach it
  std::string host_id;    ///< equal for two containers exactly when they are on one host
  std::vector<int> gpus;  ///< indices of its devices
  Resources resources;    ///< granted resources
  std::string log_url;    ///< link to the container's logs; empty: none
  /// Set after the launch by a backend that reports it; see Listener::OnExecutorStarted().
  ExecutorProcess executor = {};

  bool operator==(const Container&) const = default;
};

/// The parameters for starting tony-executor in a container.
struct LaunchContext {
  std::vector<std::string> arguments;    ///< for tony-executor, without its name
  std::vector<std::string> environment;  ///< "NAME=value"; added to the container's own
  std::string name;                      ///< name of the task as a folder name, for its logs
  std::string secret;                    ///< credential of the executor; keep it confidential
};

/// The end of a container.
struct ContainerEnd {
  bool lost = false;     ///< it went away although its process had not ended
  std::string sentence;  ///< "tony-executor exited with code 1", …
  bool seen = true;      ///< false: given up unseen; its processes may live on
};

/// A source of containers. Not thread safe: owned by the event loop. Listener calls come from the
/// event loop, never from within a call of this class.
class ClusterBackend {
 public:
  /// Receives what becomes of requests and containers. Not thread safe: called from the event loop.
  class Listener {
   public:
    virtual ~Listener() = default;
    /// One container of a request was granted.
    virtual void OnContainerGranted(const Container& container) = 0;
    /// The executor of a launched container runs as `process`. Called only by a backend that could
    /// not find the executor otherwise after the loss of an ApplicationMaster.
    virtual void OnExecutorStarted(const std::string& /*container_id*/,
                                   const ExecutorProcess& /*process*/) {}
    /// The request has to wait. Called again when the reason changes.
    virtual void OnAllocationWaiting(const std::string& what, const std::string& unblock) = 0;
    /// The request is refused for good. `never_fits`: it exceeds the total of the machine or
    /// cluster.
    virtual void OnAllocationRefused(bool never_fits, const std::string& sentence) = 0;
    /// A launched container has ended. Its resources are free, or the job keeps them for a new
    /// request.
    virtual void OnContainerEnded(const std::string& container_id, const ContainerEnd& end) = 0;
  };

  virtual ~ClusterBackend() = default;

  /// Takes over containers that were granted to earlier ApplicationMasters of this job. Call it
  /// before any other method. OnContainerEnded follows for each container that is gone, now or
  /// later.
  virtual void Reclaim(const std::vector<Container>& containers) = 0;
  /// Requests containers; those of one call are granted all or none. OnContainerGranted follows for
  /// each, or OnAllocationRefused.
  virtual void Request(const std::vector<ContainerRequest>& requests) = 0;
  /// Starts tony-executor in a granted container. A failure is reported by OnContainerEnded.
  virtual void Launch(const std::string& container_id, const LaunchContext& context) = 0;
  /// Kills a container with every process in it; OnContainerEnded follows. A container that was
  /// never launched is given back without an event. Unknown ids are ignored.
  virtual void Kill(const std::string& container_id) = 0;
  /// The container's executor was told to end, so OnContainerEnded should follow as soon as
  /// possible. A backend that learns of ends at once need not do anything. Unknown ids are ignored.
  virtual void ExpectEnd(const std::string& /*container_id*/) {}
  /// Gives back what the job keeps of ended containers, beyond its open requests.
  virtual void GiveBackSpare() = 0;
  /// Cancels every request that has not been granted.
  virtual void CancelRequests() = 0;
};

}  // namespace tony::core
