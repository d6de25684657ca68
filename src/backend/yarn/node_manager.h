// What the ApplicationMaster says to one node.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/event_loop.h"
#include "hadoop/rpc/rpc_client.h"
#include "hadoop/yarn/container_protocol.pb.h"

namespace tony::backend {

struct NodeManagerOptions {
  hadoop::Endpoint address;
  hadoop::Token token;                    ///< an NMToken
  hadoop::RequiredProtection protection;  ///< of the connection
  Duration start_timeout{};               ///< for the node to take a container's start
  Duration stop_timeout{};                ///< for the node to take a container's stop
  Duration poll_interval{};               ///< between questions for containers whose end is near
  Duration idle_timeout{};  ///< the connection is closed when nothing was said for so long
};

/// Calls for several containers that are made in one turn of the loop go in one message. Containers
/// are named by their ids as text. Not thread safe: owned by the event loop.
class NodeManager {
 public:
  /// Each is called from the loop, never from within a call to this class.
  struct Events {
    /// The node has taken the start; or why not: DeadlineExceeded – it does not answer, and may
    /// have taken it all the same.
    std::function<void(const std::string& container_id, const absl::Status&)> started;
    /// The node has taken the stop; or why not.
    std::function<void(const std::string& container_id, const absl::Status&)> stopped;
    /// The end of a watched container.
    std::function<void(const ::hadoop::yarn::ContainerStatusProto&)> ended;
  };

  NodeManager(EventLoop& loop, NodeManagerOptions options, Events events);
  /// No event follows.
  ~NodeManager() { *alive_ = false; }
  NodeManager(const NodeManager&) = delete;
  NodeManager& operator=(const NodeManager&) = delete;

  /// Connections from now on use `token`.
  void SetToken(hadoop::Token token);

  void Start(const std::string& container_id, ::hadoop::yarn::StartContainerRequestProto request);
  void Stop(const ::hadoop::yarn::ContainerIdProto& id);
  /// Asks for the container's end until it has come, or Forget() is called.
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
  std::unique_ptr<EventLoop::Handle> poll_;  ///< null: none is due
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tony::backend
