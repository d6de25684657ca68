// Provides containers of a YARN cluster to an ApplicationMaster that runs in one of them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "backend/yarn/asks.h"
#include "backend/yarn/capability.h"
#include "backend/yarn/container_exit.h"
#include "backend/yarn/launch_request.h"
#include "backend/yarn/master_session.h"
#include "backend/yarn/node_failures.h"
#include "backend/yarn/node_manager.h"
#include "backend/yarn/releases.h"
#include "common/event_loop.h"
#include "common/lifetime.h"
#include "core/ports/cluster_backend.h"
#include "hadoop/rpc/rpc_client.h"

namespace tony::backend {

/// Parameters of a YarnBackend. A plain value.
struct YarnBackendOptions {
  /// Addresses of the ResourceManager, or of both of a pair.
  std::vector<hadoop::Endpoint> scheduler;
  hadoop::Token token;                    ///< the AMRMToken, from the container's token file
  hadoop::RequiredProtection protection;  ///< required of connections to YARN's servers

  // Data of the registration, for people who look at the application.
  std::string host;
  int rpc_port = -1;
  std::string user;  ///< the user who runs the application, for the URLs of logs
  std::string tracking_url;

  AllocationOptions allocation;
  LaunchTemplate launch;
  /// For each job type: variables of its containers, "NAME=value", in addition to the template's.
  std::map<std::string, std::vector<std::string>> environment;

  Duration fast_heartbeat = std::chrono::milliseconds(100);  ///< while something is awaited
  Duration slow_heartbeat = std::chrono::seconds(1);
  Duration waiting_notice = std::chrono::seconds(5);  ///< time without a grant until a notice
  Duration start_timeout = std::chrono::seconds(60);  ///< for a node to accept a start
  /// Time for a killed container to end: once after the node's stop, once more after giving it
  /// back.
  Duration kill_timeout = std::chrono::seconds(4);
  /// Time for a container of an earlier attempt to be reported, also by a ResourceManager that was
  /// restarted.
  Duration reclaim_timeout = std::chrono::seconds(30);
  Duration away_limit = std::chrono::minutes(10);    ///< how long the ResourceManager may be away
  Duration idle_timeout = std::chrono::seconds(60);  ///< of a connection to a node
};

/// Asks go to the ResourceManager with heartbeats; starts and stops go straight to the nodes, over
/// one connection per node. Requests are granted container by container, not all at once.
///
/// ```
///            Launch            started            Kill          stop refused, or time is up
///  GRANTED ─────────▶ STARTING ───────▶ RUNNING ──────▶ STOPPING ───────────▶ GIVEN BACK
///     │ Kill              │                                 ▲                     ▲
///     ▼                   └─ Kill: when the node has ───────┘    Kill   MISSING ──┘
///   gone                     taken the start
/// ```
/// MISSING is a container of an earlier attempt that the ResourceManager has not reported yet. From
/// any state a container ends when its node or the ResourceManager says so. The end of a container
/// that was given back, or that was lost with its node, counts as unseen: its processes may run on.
///
/// Not thread safe: owned by the event loop.
class YarnBackend : public core::ClusterBackend {
 public:
  /// The ResourceManager's answer to the registration.
  struct Registration {
    core::Resources largest;  ///< the largest container
    std::string queue;
  };
  enum class FinalStatus { kSucceeded, kFailed, kKilled };

  /// All are called from the loop, never from within a call to this class. Each may be empty.
  struct Events {
    std::function<void(const Registration&)> registered;  ///< once
    /// Another attempt of this application runs, or the application has ended: nothing may be
    /// touched any more.
    std::function<void(const std::string& sentence)> deposed;
    /// No more containers can be obtained, e.g. because the ResourceManager is away for too long.
    std::function<void(const absl::Status& why)> failed;
    /// A sentence that a person may want to know.
    std::function<void(const std::string& sentence)> warning;
  };

  /// `loop` and `listener` must outlive this object.
  YarnBackend(EventLoop& loop, YarnBackendOptions options, Listener& listener, Events events);
  /// Containers run on; no event follows. Must not run from within an event or a listener's call.
  ~YarnBackend() override;
  YarnBackend(const YarnBackend&) = delete;
  YarnBackend& operator=(const YarnBackend&) = delete;

  /// Registers. Other calls may be made before.
  void Start();
  /// Unregisters: the application is over, and YARN ends all its containers. `done` gets the codes
  /// of MasterSession::Finish. Nothing else is called from then on.
  void Finish(FinalStatus status, const std::string& diagnostics, const std::string& tracking_url,
              std::function<void(const absl::Status&)> done);
  void Reclaim(const std::vector<core::Container>& containers) override;
  void Request(const std::vector<core::ContainerRequest>& requests) override;
  void Launch(const std::string& container_id, const core::LaunchContext& context) override;
  void Kill(const std::string& container_id) override;
  /// Asks the container's node, so that the end is known at once and not two heartbeats later.
  void ExpectEnd(const std::string& container_id) override;
  void GiveBackSpare() override {}  // YARN keeps nothing of ended containers for a job
  void CancelRequests() override;

 private:
  using RegisterResponse = ::hadoop::yarn::RegisterApplicationMasterResponseProto;
  using AllocateResponse = ::hadoop::yarn::AllocateResponseProto;
  using ContainerProto = ::hadoop::yarn::ContainerProto;
  using ContainerStatus = ::hadoop::yarn::ContainerStatusProto;
  using Requests = std::vector<core::ContainerRequest>;

  enum class State { kGranted, kStarting, kRunning, kStopping, kGivenBack, kMissing };
  struct LiveContainer {
    core::Container container;
    ContainerProto granted;  ///< only its id while it is missing
    State state = State::kGranted;
    bool killed = false;  ///< Kill() was called while it was starting
    std::unique_ptr<EventLoop::Handle> deadline;
  };
  struct Node {
    hadoop::Token token;
    std::unique_ptr<NodeManager> manager;
  };

  void Later(std::function<void()> function);
  MasterSession::Events SessionEvents();

  // Handlers of the ResourceManager's answers.
  void OnRegistered(const RegisterResponse& response, bool again);
  void Fill(::hadoop::yarn::AllocateRequestProto& request);
  void OnAllocated(const AllocateResponse& response);
  void OnRefused(const absl::Status& status);
  void OnRejected(const ::hadoop::yarn::RejectedSchedulingRequestProto& rejected);
  bool Awaiting() const;
  void OnDeposed(const std::string& sentence);
  void OnFailed(const absl::Status& status);
  void OnGranted(const ContainerProto& granted);
  void OnCompleted(const ContainerStatus& status);
  void WarnOfPreemption(const ::hadoop::yarn::PreemptionMessageProto& message);
  void Warn(const std::string& sentence);

  // Requests.
  void Ask(const Requests& requests);
  std::string NeverFits(const Requests& requests) const;
  void WatchWaiting();
  void ReportWaiting();
  std::string WhatIsWaitedFor() const;

  // Containers of earlier attempts.
  void OnPrevious(const ContainerProto& previous);
  void ReleaseUnclaimed();

  // Containers.
  void TakeToken(const ::hadoop::yarn::NMTokenProto& token);
  NodeManager& ManagerOf(const LiveContainer& live);
  absl::Status SendStart(LiveContainer& live, const core::LaunchContext& context);
  void OnStarted(const std::string& container_id, const absl::Status& status);
  void OnStopped(const std::string& container_id, const absl::Status& status);
  void Stop(LiveContainer& live);
  void GiveBack(LiveContainer& live);
  void Release(const ::hadoop::yarn::ContainerIdProto& id);
  void CountLaunch(const LiveContainer& live, bool failed, const std::string& sentence);
  void End(const std::string& container_id, const core::ContainerEnd& end);

  EventLoop& loop_;
  const YarnBackendOptions options_;
  Listener& listener_;
  const Events events_;
  MasterSession session_;

  std::optional<RegisterResponse> registration_;
  int cluster_nodes_ = 0;
  std::map<std::string, Node> nodes_;  ///< by "host:port"
  std::map<std::string, LiveContainer> containers_;

  Asks asks_;
  Releases releases_;
  NodeFailures failures_;
  std::vector<Requests> unregistered_;  ///< made before the registration
  std::unique_ptr<EventLoop::Handle> waiting_;
  std::string waiting_sentence_;              ///< the last one told
  std::string rejection_;                     ///< why YARN gave requests up; or empty
  std::unique_ptr<EventLoop::Handle> retry_;  ///< repeats rejected requests
  bool claims_known_ = false;                 ///< false: Reclaim() may still be called
  /// Containers of earlier attempts, kept until claims_known_ is true.
  std::map<std::string, ContainerProto> previous_;
  /// Containers warned of; true: YARN will certainly take them.
  std::map<std::string, bool> preempted_;
  Lifetime lifetime_;
};

}  // namespace tony::backend
