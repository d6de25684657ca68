// The ApplicationMaster's calls to one node's NodeManager.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/event_loop.h"
#include "common/lifetime.h"
#include "hadoop/rpc/rpc_client.h"
#include "hadoop/yarn/container_protocol.pb.h"

namespace tony::backend {

struct NodeManagerOptions {
  hadoop::Endpoint address;
  hadoop::Token token;                    ///< an NMToken
  hadoop::RequiredProtection protection;  ///< required of the connection
  Duration start_timeout{};               ///< for the node to accept a container's start
  Duration stop_timeout{};                ///< for the node to accept a container's stop
  Duration poll_interval{};               ///< between polls for containers that are about to end
  Duration idle_timeout{};  ///< after this time without a call the connection is closed
};

/// Sends the calls for several containers that are made in one turn of the loop in one message.
/// Containers are named by their ids as text. Not thread safe: owned by the event loop.
class NodeManager {
 public:
  /// All are called from the loop, never from within a call to this class.
  struct Events {
    /// The node has accepted the start, or the reason why not. DeadlineExceeded – the node does not
    /// answer and may have accepted it all the same.
    std::function<void(const std::string& container_id, const absl::Status&)> started;
    /// The node has accepted the stop, or the reason why not.
    std::function<void(const std::string& container_id, const absl::Status&)> stopped;
    /// A watched container has ended.
    std::function<void(const ::hadoop::yarn::ContainerStatusProto&)> ended;
  };

  NodeManager(EventLoop& loop, NodeManagerOptions options, Events events);
  /// No event follows.
  ~NodeManager() = default;
  NodeManager(const NodeManager&) = delete;
  NodeManager& operator=(const NodeManager&) = delete;

  /// Uses `token` for new connections.
  void SetToken(hadoop::Token token);

  void Start(const std::string& container_id, ::hadoop::yarn::StartContainerRequestProto request);
  void Stop(const ::hadoop::yarn::ContainerIdProto& id);
  /// Polls for the container's end until it has come or Forget() is called.
  void Watch(const ::hadoop::yarn::ContainerIdProto& id);
  void Forget(const std::string& container_id) { watched_.erase(container_id); }

 private:
  hadoop::RpcClient& Client();
  template <typename Response, typename Request, typename Callback>
  void Call(const std::string& method, const Request& request, Duration timeout, Callback callback);
  void SendLater();
  void Send();
  void OnStarted(const std::vector<std::string>& container_ids,
                 const absl::StatusOr<::hadoop::yarn::StartContainersResponseProto>& response);
  void OnStopped(const std::vector<std::string>& container_ids,
                 const absl::StatusOr<::hadoop::yarn::StopContainersResponseProto>& response);
  void PollLater();
  void Poll();

  EventLoop& loop_;
  NodeManagerOptions options_;
  const Events events_;
  std::unique_ptr<hadoop::RpcClient> client_;  ///< null: closed
  int in_flight_ = 0;
  std::unique_ptr<EventLoop::Handle> idle_;
  bool send_posted_ = false;
  std::vector<std::string> starting_;
  ::hadoop::yarn::StartContainersRequestProto starts_;
  ::hadoop::yarn::StopContainersRequestProto stops_;
  std::map<std::string, ::hadoop::yarn::ContainerIdProto> watched_;
  std::unique_ptr<EventLoop::Handle> poll_;  ///< null: no poll is due
  Lifetime lifetime_;
};

}  // namespace tony::backend
