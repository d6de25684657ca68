// The port through which the ApplicationMaster gets, uses and gives back containers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/job_description.h"

namespace tony::core {

/// `count` like containers for the tasks of one type.
struct ContainerRequest {
  std::string type;
  int count = 0;
  Resources resources;  ///< of each

  bool operator==(const ContainerRequest&) const = default;
};

/// Which process of its machine a container's tony-executor is. The kernel gives a number again,
/// but not with the same start.
struct ExecutorProcess {
  int64_t pid = 0;          ///< 0: not known
  int64_t start_ticks = 0;  ///< of the kernel's clock, since the machine's boot

  bool operator==(const ExecutorProcess&) const = default;
};

/// A container that was granted to this job.
struct Container {
  std::string id;         ///< unique among all containers of the backend, e.g. "JOB-c0003"
  std::string type;       ///< the type of the request that it answers
  std::string host;       ///< address at which the other tasks reach it
  std::string host_id;    ///< equal for two containers exactly when they are on one host
  std::vector<int> gpus;  ///< indices of the devices that it holds
  Resources resources;    ///< what was granted
  std::string log_url;    ///< where the backend shows its logs; empty: nowhere
  /// Once it was launched by a backend that tells; see Listener::OnExecutorStarted().
  ExecutorProcess executor = {};

  bool operator==(const Container&) const = default;
};

/// What is started in a container.
struct LaunchContext {
  std::vector<std::string> arguments;    ///< of tony-executor, without the program's name
  std::vector<std::string> environment;  ///< "NAME=value"; added to the container's own
  std::string name;                      ///< of the task, as a folder name: where its logs go
  std::string secret;  ///< what the executor proves itself by; for nobody else's eyes
};

/// How a container ended.
struct ContainerEnd {
  bool lost = false;     ///< it went away without its process having ended by itself
  std::string sentence;  ///< "tony-executor exited with code 1", …
  bool seen = true;      ///< false: it was given up unseen, and its processes may live on
};

/// Gets containers. Not thread safe: owned by the event loop. Listener calls come from the event
/// loop, never from within a call of this class.
class ClusterBackend {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    /// One container of a request.
    virtual void OnContainerGranted(const Container& container) = 0;
    /// A launched container's executor runs as `process`. Only a backend that has nothing else to
    /// find it by after the loss of an ApplicationMaster calls this.
    virtual void OnExecutorStarted(const std::string& /*container_id*/,
                                   const ExecutorProcess& /*process*/) {}
    /// The request has to wait. Called again when the reason changes.
    virtual void OnAllocationWaiting(const std::string& what, const std::string& unblock) = 0;
    /// The request is refused for good. `never_fits`: it is larger than all there is.
    virtual void OnAllocationRefused(bool never_fits, const std::string& sentence) = 0;
    /// A launched container is over; its resources are free, or still kept by the job for a new
    /// request.
    virtual void OnContainerEnded(const std::string& container_id, const ContainerEnd& end) = 0;
  };

  virtual ~ClusterBackend() = default;

  /// Takes over containers that were granted to earlier ApplicationMasters of this job; before any
  /// other call. OnContainerEnded follows for each that is gone, now or later.
  virtual void Reclaim(const std::vector<Container>& containers) = 0;
  /// Asks for containers, all or none of one call. Answered by OnContainerGranted for each or
  /// OnAllocationRefused.
  virtual void Request(const std::vector<ContainerRequest>& requests) = 0;
  /// Starts tony-executor in a granted container. A failure arrives as OnContainerEnded.
  virtual void Launch(const std::string& container_id, const LaunchContext& context) = 0;
  /// Ends a container by force and with it every process in it; OnContainerEnded follows. A
  /// container that was never launched is given back without an event. Unknown ids are ignored.
  virtual void Kill(const std::string& container_id) = 0;
  /// The container's executor was told to end: OnContainerEnded is to follow as soon as may be.
  /// Nothing for a backend that hears of ends at once. Unknown ids are ignored.
  virtual void ExpectEnd(const std::string& /*container_id*/) {}
  /// What the job keeps of ended containers is given back, beyond what has been asked for so far.
  virtual void GiveBackSpare() = 0;
  /// Takes back every request that has not been granted.
  virtual void CancelRequests() = 0;
};

}  // namespace tony::core
