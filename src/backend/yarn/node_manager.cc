// Collects the calls of one turn of the loop into one message, and splits the answer by container.
#include "backend/yarn/node_manager.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backend/yarn/container_id.h"
#include "common/logging.h"
#include "hadoop/rpc/protocols.h"
#include "hadoop/rpc/remote_exception.h"

namespace tony::backend {
namespace {

namespace yarn = ::hadoop::yarn;

// Hadoop's text for a start that arrives twice because a connection was lost; it counts as success.
constexpr char kAlreadyRunning[] = "already is running";

// The part of the answer that concerns one of the containers.
template <typename Response>
absl::Status StatusOf(const std::string& container_id, const absl::StatusOr<Response>& response) {
  if (!response.ok()) return response.status();
  for (const yarn::ContainerExceptionMapProto& failed : response->failed_requests()) {
    if (ContainerIdText(failed.container_id()) != container_id) continue;
    return hadoop::RemoteException(failed.exception().class_name(), failed.exception().message());
  }
  return absl::OkStatus();
}

}  // namespace

NodeManager::NodeManager(EventLoop& loop, NodeManagerOptions options, Events events)
    : loop_(loop), options_(std::move(options)), events_(std::move(events)) {}

void NodeManager::SetToken(hadoop::Token token) {
  options_.token = token;
  if (client_ != nullptr) client_->SetToken(std::move(token));
}

hadoop::RpcClient& NodeManager::Client() {
  if (client_ == nullptr) {
    client_ = std::make_unique<hadoop::RpcClient>(
        loop_, hadoop::RpcClientOptions{
                   .protocol = hadoop::kContainerManagement,
                   .servers = {options_.address},
                   .identity = {.token = options_.token, .protection = options_.protection}});
  }
  return *client_;
}

template <typename Response, typename Request, typename Callback>
void NodeManager::Call(const std::string& method, const Request& request, Duration timeout,
                       Callback callback) {
  idle_ = nullptr;
  ++in_flight_;
  Client().Call<Response>(
      method, request, timeout, hadoop::Retry::kUntilDeadline,
      [this, callback = std::move(callback)](const absl::StatusOr<Response>& response) {
        if (--in_flight_ == 0) {
          // A job may use many nodes, and most connections are needed only at a container's start
          // and end.
          idle_ = loop_.After(options_.idle_timeout, [this] { client_ = nullptr; });
        }
        callback(response);
      });
}

void NodeManager::Start(const std::string& container_id, yarn::StartContainerRequestProto request) {
  starting_.push_back(container_id);
  *starts_.add_start_container_request() = std::move(request);
  SendLater();
}

void NodeManager::Stop(const yarn::ContainerIdProto& id) {
  *stops_.add_container_id() = id;
  SendLater();
}

void NodeManager::SendLater() {
  if (std::exchange(send_posted_, true)) return;
  loop_.Post(lifetime_.Guard([this] { Send(); }));
}

void NodeManager::Send() {
  send_posted_ = false;
  if (!starting_.empty()) {
    Call<yarn::StartContainersResponseProto>(
        "startContainers", std::exchange(starts_, {}), options_.start_timeout,
        [this, ids = std::exchange(starting_, {})](const auto& response) {
          OnStarted(ids, response);
        });
  }
  if (stops_.container_id().empty()) return;
  std::vector<std::string> stopping;
  for (const yarn::ContainerIdProto& id : stops_.container_id()) {
    stopping.push_back(ContainerIdText(id));
  }
  Call<yarn::StopContainersResponseProto>(
      "stopContainers", std::exchange(stops_, {}), options_.stop_timeout,
      [this, ids = std::move(stopping)](const auto& response) { OnStopped(ids, response); });
}

void NodeManager::OnStarted(const std::vector<std::string>& container_ids,
                            const absl::StatusOr<yarn::StartContainersResponseProto>& response) {
  for (const std::string& id : container_ids) {
    absl::Status status = StatusOf(id, response);
    if (absl::StrContains(status.message(), kAlreadyRunning)) {
      LogDebug("a second start of a container is none", {{"container", id}});
      status = absl::OkStatus();
    }
    events_.started(id, status);
  }
}

void NodeManager::OnStopped(const std::vector<std::string>& container_ids,
                            const absl::StatusOr<yarn::StopContainersResponseProto>& response) {
  for (const std::string& id : container_ids) events_.stopped(id, StatusOf(id, response));
}

void NodeManager::Watch(const yarn::ContainerIdProto& id) {
  watched_.emplace(ContainerIdText(id), id);
  PollLater();
}

void NodeManager::PollLater() {
  if (poll_ == nullptr) poll_ = loop_.After(options_.poll_interval, [this] { Poll(); });
}

void NodeManager::Poll() {
  if (watched_.empty()) {
    poll_ = nullptr;
    return;
  }
  yarn::GetContainerStatusesRequestProto request;
  for (const auto& [text, id] : watched_) *request.add_container_id() = id;
  Call<yarn::GetContainerStatusesResponseProto>(
      "getContainerStatuses", request, options_.stop_timeout, [this](const auto& response) {
        poll_ = nullptr;
        PollLater();
        if (!response.ok()) {
          return LogDebug(
              "a node does not say how its containers are",
              {{"peer", hadoop::ToString(options_.address)}, {"why", response.status().message()}});
        }
        // A container that the node has forgotten: its end has been reported to the
        // ResourceManager.
        for (const auto& failed : response->failed_requests()) {
          Forget(ContainerIdText(failed.container_id()));
        }
        for (const yarn::ContainerStatusProto& status : response->status()) {
          if (status.state() != yarn::C_COMPLETE) continue;
          if (watched_.erase(ContainerIdText(status.container_id())) > 0) events_.ended(status);
        }
      });
}

}  // namespace tony::backend
