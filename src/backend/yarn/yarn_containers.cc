// The life of a YarnBackend's containers from their start to their end.
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backend/yarn/container_id.h"
#include "backend/yarn/yarn_backend.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "hadoop/auth/token_message.h"
#include "hadoop/rpc/remote_exception.h"

namespace tony::backend {
namespace {

namespace yarn = ::hadoop::yarn;

std::string NodeName(const yarn::NodeIdProto& node) {
  return absl::StrCat(node.host(), ":", node.port());
}

// Whether the start failed because the container was granted too long ago, or by a ResourceManager
// that was restarted since. The node is not to blame then.
bool IsOfTheGrant(const absl::Status& status) {
  return absl::StrContains(status.message(), "allocated by a previous RM") ||
         absl::StrContains(status.message(), "token is expired");
}

// The URLs that a node fetches unchecked by us and by YARN. The node's complaints may not name
// them.
std::string FetchedFrom(const LaunchTemplate& launch) {
  std::vector<std::string> urls;
  for (const LocalResource& resource : launch.resources) {
    if (resource.bytes >= 0) continue;
    const hadoop::Endpoint server{.host = resource.host, .port = resource.port};
    urls.push_back(absl::StrCat(resource.scheme, "://", ToString(server), resource.path));
  }
  return urls.empty() ? "" : absl::StrCat("; it fetches from ", absl::StrJoin(urls, ", "), " too");
}

}  // namespace

void YarnBackend::TakeToken(const yarn::NMTokenProto& message) {
  Node& node = nodes_[NodeName(message.nodeid())];
  node.token = hadoop::TokenOf(message.token());
  if (node.manager != nullptr) node.manager->SetToken(node.token);
}

NodeManager& YarnBackend::ManagerOf(const LiveContainer& live) {
  const yarn::NodeIdProto& address = live.granted.nodeid();
  Node& node = nodes_[NodeName(address)];
  if (node.manager != nullptr) return *node.manager;
  node.manager = std::make_unique<NodeManager>(
      loop_,
      NodeManagerOptions{.address = {.host = address.host(), .port = address.port()},
                         .token = node.token,
                         .protection = options_.protection,
                         .start_timeout = options_.start_timeout,
                         .stop_timeout = options_.kill_timeout,
                         .poll_interval = options_.fast_heartbeat,
                         .idle_timeout = options_.idle_timeout},
      NodeManager::Events{.started = [this](const std::string& id,
                                            const absl::Status& status) { OnStarted(id, status); },
                          .stopped = [this](const std::string& id,
                                            const absl::Status& status) { OnStopped(id, status); },
                          .ended = [this](const ContainerStatus& status) { OnCompleted(status); }});
  return *node.manager;
}

void YarnBackend::Reclaim(const std::vector<core::Container>& containers) {
  for (const core::Container& container : containers) {
    LiveContainer live;
    live.container = container;
    live.state = State::kMissing;
    const auto id = ParseContainerId(container.id);
    if (!id.ok()) {
      LogWarning("a container's id cannot be read", {{"container", container.id}});
      Later([this, name = container.id, why = std::string(id.status().message())] {
        listener_.OnContainerEnded(name, {.lost = true, .sentence = why});
      });
      continue;
    }
    *live.granted.mutable_id() = *id;
    // The ResourceManager may report the container late, from a node that registers after a
    // restart, so a missing container is not taken for ended at once.
    live.deadline = loop_.After(options_.reclaim_timeout, [this, name = container.id] {
      End(name, {.lost = true, .sentence = "YARN knows nothing of it any more", .seen = false});
    });
    containers_.insert_or_assign(container.id, std::move(live));
  }
  for (const auto& [id, previous] : std::exchange(previous_, {})) OnPrevious(previous);
  ReleaseUnclaimed();
}

// A container of an earlier attempt that still runs.
void YarnBackend::OnPrevious(const ContainerProto& previous) {
  const std::string id = ContainerIdText(previous.id());
  const auto found = containers_.find(id);
  if (found != containers_.end()) {
    if (found->second.state != State::kMissing) return;
    LogInfo("a container of an earlier attempt is taken over", {{"container", id}});
    found->second.granted = previous;
    found->second.state = State::kRunning;
    found->second.deadline = nullptr;
  } else if (claims_known_) {
    LogInfo("a container of an earlier attempt is given back: nobody needs it",
            {{"container", id}});
    Release(previous.id());
  } else {
    previous_.emplace(id, previous);
  }
}

void YarnBackend::ReleaseUnclaimed() {
  // The first call other than Reclaim() shows that no Reclaim() will follow, so the containers that
  // no one claimed are given back.
  claims_known_ = true;
  for (const auto& [id, previous] : std::exchange(previous_, {})) OnPrevious(previous);
}

void YarnBackend::Launch(const std::string& container_id, const core::LaunchContext& context) {
  const auto found = containers_.find(container_id);
  if (found == containers_.end() || found->second.state != State::kGranted) {
    return LogDebug("a launch comes too late", {{"container", container_id}});
  }
  found->second.state = State::kStarting;
  const absl::Status status = SendStart(found->second, context);
  if (status.ok()) return;
  LogWarning("a container cannot be launched",
             {{"container", container_id}, {"why", status.message()}});
  Release(found->second.granted.id());
  Later([this, container_id, sentence = std::string(status.message())] {
    End(container_id, {.lost = false, .sentence = sentence});
  });
}

absl::Status YarnBackend::SendStart(LiveContainer& live, const core::LaunchContext& context) {
  core::LaunchContext of_type = context;
  const auto more = options_.environment.find(live.container.type);
  if (more != options_.environment.end()) {
    of_type.environment.insert(of_type.environment.end(), more->second.begin(), more->second.end());
  }
  yarn::StartContainerRequestProto request;
  TONY_ASSIGN_OR_RETURN(*request.mutable_container_launch_context(),
                        MakeLaunchContext(options_.launch, of_type));
  *request.mutable_container_token() = live.granted.container_token();
  ManagerOf(live).Start(live.container.id, std::move(request));
  return absl::OkStatus();
}

void YarnBackend::OnStarted(const std::string& container_id, const absl::Status& status) {
  const auto found = containers_.find(container_id);
  if (found == containers_.end()) return;
  LiveContainer& live = found->second;
  if (status.ok()) {
    if (live.state == State::kStarting) live.state = State::kRunning;
    // A Kill() that came during the start is carried out now, when the node has taken the start.
    if (live.killed) Stop(live);
    return;
  }
  LogWarning("a node does not start a container", {{"container", container_id},
                                                   {"peer", NodeName(live.granted.nodeid())},
                                                   {"why", status.message()}});
  const std::string sentence = absl::StrCat("its node ", NodeName(live.granted.nodeid()),
                                            " did not start it: ", std::string(status.message()));
  if (!IsOfTheGrant(status)) CountLaunch(live, true, sentence);
  Release(live.granted.id());
  // An exception from the node proves that nothing runs; without an answer that is unknown.
  End(container_id,
      {.lost = true, .sentence = sentence, .seen = !hadoop::RemoteExceptionName(status).empty()});
}

void YarnBackend::Kill(const std::string& container_id) {
  ReleaseUnclaimed();
  const auto found = containers_.find(container_id);
  if (found == containers_.end()) return;
  LiveContainer& live = found->second;
  switch (live.state) {
    case State::kGranted:
      Release(live.granted.id());
      containers_.erase(found);
      break;
    case State::kStarting:
      if (std::exchange(live.killed, true)) break;
      live.deadline = loop_.After(options_.kill_timeout, [this, &live] { GiveBack(live); });
      break;
    case State::kRunning:
      Stop(live);
      break;
    case State::kMissing:
      GiveBack(live);
      break;
    case State::kStopping:
    case State::kGivenBack:
      break;
  }
}

// Stops the container through its node. If the node does not report its end in time, the container
// is given back to the ResourceManager.
void YarnBackend::Stop(LiveContainer& live) {
  ManagerOf(live).Stop(live.granted.id());
  if (live.state == State::kGivenBack) return;
  live.state = State::kStopping;
  live.deadline = loop_.After(options_.kill_timeout, [this, &live] { GiveBack(live); });
}

void YarnBackend::OnStopped(const std::string& container_id, const absl::Status& status) {
  const auto found = containers_.find(container_id);
  if (found == containers_.end()) return;
  if (status.ok()) return ManagerOf(found->second).Watch(found->second.granted.id());
  LogWarning("a node does not stop a container",
             {{"container", container_id},
              {"peer", NodeName(found->second.granted.nodeid())},
              {"why", status.ToString()}});
}

void YarnBackend::GiveBack(LiveContainer& live) {
  // After a second period without an answer the container ends unseen. Its processes may run on, so
  // the core waits for its lease before it starts a successor.
  live.state = State::kGivenBack;
  LogInfo("a container's end is not reported: it is given back",
          {{"container", live.container.id}});
  Release(live.granted.id());
  live.deadline = loop_.After(options_.kill_timeout, [this, id = live.container.id] {
    End(id, {.lost = true,
             .sentence = "it was killed, and neither its node nor the ResourceManager says that it "
                         "has ended",
             .seen = false});
  });
}

void YarnBackend::ExpectEnd(const std::string& container_id) {
  const auto found = containers_.find(container_id);
  if (found == containers_.end() || found->second.state != State::kRunning) return;
  ManagerOf(found->second).Watch(found->second.granted.id());
}

void YarnBackend::Release(const yarn::ContainerIdProto& id) {
  releases_.Add(id);
  session_.Poke();
}

// The container's end as reported by its node or the ResourceManager, whichever is first.
void YarnBackend::OnCompleted(const ContainerStatus& status) {
  const std::string id = ContainerIdText(status.container_id());
  releases_.Over(id);
  const auto found = containers_.find(id);
  if (found == containers_.end()) {
    return LogDebug("the end of a container that is not held is ignored", {{"container", id}});
  }
  LiveContainer& live = found->second;
  ContainerExit exit = ReadContainerExit(status);
  if (exit.fetch_failed) absl::StrAppend(&exit.end.sentence, FetchedFrom(options_.launch));
  // Nothing ran in a container that was never started, so its end counts as seen.
  if (live.state == State::kGranted) exit.end.seen = true;
  if (live.state != State::kGranted && live.state != State::kMissing) {
    CountLaunch(live, exit.launch_failed, exit.end.sentence);
  }
  End(id, exit.end);
}

void YarnBackend::CountLaunch(const LiveContainer& live, bool failed, const std::string& sentence) {
  const std::string node = NodeName(live.granted.nodeid());
  if (!failed) return failures_.Succeeded(node);
  if (!failures_.Failed(node, cluster_nodes_)) return;
  Warn(absl::StrCat("node ", node,
                    " is left out from now on, since two launches in a row have "
                    "failed there; the last: ",
                    sentence));
  session_.Poke();
}

void YarnBackend::End(const std::string& container_id, const core::ContainerEnd& end) {
  // The container is removed before the listener hears of its end, because the listener may call
  // back.
  const auto ended = containers_.extract(container_id);
  if (ended.empty()) return;
  const auto node = nodes_.find(NodeName(ended.mapped().granted.nodeid()));
  if (node != nodes_.end() && node->second.manager != nullptr) {
    node->second.manager->Forget(ended.key());
  }
  LogInfo("a container has ended", {{"container", ended.key()}, {"how", end.sentence}});
  preempted_.erase(ended.key());
  listener_.OnContainerEnded(ended.key(), end);
}

}  // namespace tony::backend
