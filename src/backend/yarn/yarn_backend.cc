// Requests, grants and the ResourceManager's answers. Containers' lives are in yarn_containers.cc.
#include "backend/yarn/yarn_backend.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backend/yarn/container_id.h"
#include "backend/yarn/yarn_job.h"
#include "common/logging.h"
#include "hadoop/rpc/remote_exception.h"

namespace tony::backend {
namespace {

namespace yarn = ::hadoop::yarn;

constexpr char kInvalidBlacklist[] = "InvalidResourceBlacklistRequestException";
constexpr char kInvalidRelease[] = "InvalidContainerReleaseException";
constexpr char kTooLarge[] = "greater than maximum allowed allocation";
// The message of a ResourceManager that is not set up for placement constraints, or whose scheduler
// cannot handle them.
constexpr char kNoPlacement[] = "cannot handle placement constraints";

yarn::FinalApplicationStatusProto FinalStatusOf(YarnBackend::FinalStatus status) {
  switch (status) {
    case YarnBackend::FinalStatus::kSucceeded:
      return yarn::APP_SUCCEEDED;
    case YarnBackend::FinalStatus::kKilled:
      return yarn::APP_KILLED;
    case YarnBackend::FinalStatus::kFailed:
      break;
  }
  return yarn::APP_FAILED;
}

MasterSessionOptions SessionOptions(const YarnBackendOptions& options) {
  MasterSessionOptions session{.scheduler = options.scheduler,
                               .token = options.token,
                               .protection = options.protection,
                               .fast_heartbeat = options.fast_heartbeat,
                               .slow_heartbeat = options.slow_heartbeat,
                               .away_limit = options.away_limit};
  session.registration.set_host(options.host);
  session.registration.set_rpc_port(options.rpc_port);
  session.registration.set_tracking_url(options.tracking_url);
  return session;
}

}  // namespace

YarnBackend::YarnBackend(EventLoop& loop, YarnBackendOptions options, Listener& listener,
                         Events events)
    : loop_(loop),
      options_(std::move(options)),
      listener_(listener),
      events_(std::move(events)),
      session_(loop, SessionOptions(options_), SessionEvents()),
      asks_(options_.allocation) {}

YarnBackend::~YarnBackend() = default;

MasterSession::Events YarnBackend::SessionEvents() {
  return {.registered = [this](const auto& response, bool again) { OnRegistered(response, again); },
          .fill = [this](auto& request) { Fill(request); },
          .allocated = [this](const auto& response) { OnAllocated(response); },
          .refused = [this](const absl::Status& status) { OnRefused(status); },
          .awaiting = [this] { return Awaiting(); },
          .deposed = [this](const std::string& sentence) { OnDeposed(sentence); },
          .failed = [this](const absl::Status& status) { OnFailed(status); }};
}

void YarnBackend::Later(std::function<void()> function) {
  loop_.Post(lifetime_.Guard(std::move(function)));
}

void YarnBackend::Start() { session_.Start(); }

void YarnBackend::Finish(FinalStatus status, const std::string& diagnostics,
                         const std::string& tracking_url,
                         std::function<void(const absl::Status&)> done) {
  waiting_ = nullptr;
  yarn::FinishApplicationMasterRequestProto request;
  request.set_final_application_status(FinalStatusOf(status));
  request.set_diagnostics(diagnostics);
  request.set_tracking_url(tracking_url);
  session_.Finish(std::move(request), std::move(done));
}

void YarnBackend::OnRegistered(const RegisterResponse& response, bool again) {
  if (again) {
    LogInfo("registered again: everything is asked for anew");
    asks_.Forgotten();
    releases_.Forgotten();
    failures_.Forgotten();
  }
  for (const auto& token : response.nm_tokens_from_previous_attempts()) TakeToken(token);
  for (const ContainerProto& previous : response.containers_from_previous_attempts()) {
    OnPrevious(previous);
  }
  if (registration_.has_value()) return;
  registration_ = response;
  LogInfo("registered with the ResourceManager",
          {{"queue", response.queue()}, {"largest", Describe(response.maximumcapability())}});
  if (events_.registered) {
    events_.registered(
        {.largest = ResourcesOf(response.maximumcapability(), options_.allocation.gpu_resource),
         .queue = response.queue()});
  }
  // Requests made before the registration waited for it, because only the registration tells the
  // largest container.
  for (const Requests& requests : std::exchange(unregistered_, {})) Ask(requests);
}

void YarnBackend::Fill(yarn::AllocateRequestProto& request) {
  asks_.Tell(&request);
  for (auto& id : releases_.Tell()) *request.add_release() = std::move(id);
  for (std::string& node : failures_.Tell()) {
    request.mutable_blacklist_request()->add_blacklist_additions(std::move(node));
  }
}

void YarnBackend::OnAllocated(const AllocateResponse& response) {
  if (response.has_num_cluster_nodes()) cluster_nodes_ = response.num_cluster_nodes();
  for (const auto& token : response.nm_tokens()) TakeToken(token);
  for (const ContainerProto& previous : response.containers_from_previous_attempts()) {
    OnPrevious(previous);
  }
  for (const ContainerProto& granted : response.allocated_containers()) OnGranted(granted);
  for (const ContainerStatus& status : response.completed_container_statuses()) {
    OnCompleted(status);
  }
  for (const auto& rejected : response.rejected_scheduling_requests()) OnRejected(rejected);
  if (response.has_preempt()) WarnOfPreemption(response.preempt());
  if (asks_.missing() == 0) WatchWaiting();
}

// The ResourceManager took nothing of the last call. Everything is told again except for the part
// that was refused.
void YarnBackend::OnRefused(const absl::Status& status) {
  const std::string name = hadoop::RemoteExceptionName(status);
  if (name != kInvalidRelease) releases_.Forgotten();
  if (name != kInvalidBlacklist) failures_.Forgotten();
  const bool no_placement = absl::StrContains(status.message(), kNoPlacement);
  const bool asks_are_refused =
      no_placement ||
      (absl::IsInvalidArgument(status) && name != kInvalidRelease && name != kInvalidBlacklist);
  if (!asks_are_refused) return asks_.Forgotten();
  if (!asks_.Refused()) return;
  WatchWaiting();
  listener_.OnAllocationRefused(
      absl::StrContains(status.message(), kTooLarge),
      absl::StrCat("YARN refuses the request: ", std::string(status.message()),
                   no_placement
                       ? "; the cluster's administrator has to set "
                         "yarn.resourcemanager.placement-constraints.handler to scheduler, "
                         "or the job to do without placement-spec and allocation-tags"
                       : ""));
}

// A ResourceManager whose placement-constraints.handler is placement-processor gives a request up
// if it finds no node for it at once, so the request is made again after a while.
void YarnBackend::OnRejected(const yarn::RejectedSchedulingRequestProto& rejected) {
  const yarn::SchedulingRequestProto& request = rejected.request();
  const int count = std::max(1, request.resourcesizing().numallocations());
  const auto type = asks_.Rejected(request.allocationrequestid(), count);
  if (!type.has_value()) return;
  rejection_ = absl::StrCat("YARN has given up ", count, " ", *type, ", since ",
                            rejected.reason() == yarn::RRP_COULD_NOT_SCHEDULE_ON_NODE
                                ? "the nodes where its placement constraint holds have no room"
                                : "no node with room is one where its placement constraint holds",
                            ", and is asked again");
  if (retry_ != nullptr) return;
  retry_ = loop_.After(options_.waiting_notice, [this] {
    retry_ = nullptr;
    asks_.Retry();
    if (asks_.untold()) session_.Poke();
  });
}

bool YarnBackend::Awaiting() const {
  if (asks_.missing() > 0 || asks_.untold() || releases_.untold()) return true;
  for (const auto& [id, live] : containers_) {
    // The heartbeat stays fast while the ResourceManager may report the end of a container that is
    // to end, or a missing container.
    if (live.state >= State::kStopping || live.killed) return true;
  }
  return false;
}

void YarnBackend::OnDeposed(const std::string& sentence) {
  waiting_ = nullptr;
  containers_.clear();
  nodes_.clear();
  if (events_.deposed) events_.deposed(sentence);
}

void YarnBackend::OnFailed(const absl::Status& status) {
  waiting_ = nullptr;
  if (events_.failed) events_.failed(status);
}

void YarnBackend::Warn(const std::string& sentence) {
  LogWarning(sentence);
  if (events_.warning) events_.warning(sentence);
}

void YarnBackend::Request(const Requests& requests) {
  ReleaseUnclaimed();
  Later([this, requests] { Ask(requests); });
}

void YarnBackend::Ask(const Requests& requests) {
  if (session_.ended()) return;
  if (!registration_.has_value()) {
    unregistered_.push_back(requests);
    return WatchWaiting();
  }
  // A request larger than YARN's largest container is refused before it is sent, with both numbers
  // in the sentence.
  if (const std::string sentence = NeverFits(requests); !sentence.empty()) {
    return listener_.OnAllocationRefused(true, sentence);
  }
  asks_.Add(requests);
  WatchWaiting();
  session_.Poke();
}

std::string YarnBackend::NeverFits(const Requests& requests) const {
  if (!registration_->has_maximumcapability()) return "";
  for (const core::ContainerRequest& request : requests) {
    const std::string excess = DescribeExcess(CapabilityOf(request, options_.allocation),
                                              registration_->maximumcapability());
    if (!excess.empty()) {
      return absl::StrCat(request.type, " asks for ", excess, " for applications of queue ",
                          registration_->queue());
    }
  }
  return "";
}

void YarnBackend::CancelRequests() {
  ReleaseUnclaimed();
  unregistered_.clear();
  asks_.Cancel();
  WatchWaiting();
  if (asks_.untold()) session_.Poke();
}

// Restarts the notice timer, because every grant or change is progress.
void YarnBackend::WatchWaiting() {
  waiting_ = nullptr;
  waiting_sentence_.clear();
  rejection_.clear();
  if (asks_.missing() == 0 && unregistered_.empty()) return;
  waiting_ = loop_.After(options_.waiting_notice, [this] { ReportWaiting(); });
}

void YarnBackend::ReportWaiting() {
  waiting_ = loop_.After(options_.waiting_notice, [this] { ReportWaiting(); });
  const std::string sentence = WhatIsWaitedFor();
  if (sentence == waiting_sentence_) return;
  waiting_sentence_ = sentence;
  LogInfo("containers are waited for", {{"why", sentence}});
  const std::string unblock =
      cluster_nodes_ == 0 || !session_.answered_lately()
          ? "the cluster's ResourceManager and its nodes come back"
          : "other applications of the queue give containers back, or the cluster gets nodes";
  listener_.OnAllocationWaiting(sentence, unblock);
}

std::string YarnBackend::WhatIsWaitedFor() const {
  if (!registration_.has_value()) return "YARN's ResourceManager does not answer";
  std::string sentence = absl::StrCat("from YARN's queue ", registration_->queue(),
                                      " are still to come: ", asks_.DescribeMissing());
  if (!session_.answered_lately()) {
    absl::StrAppend(&sentence, "; the ResourceManager does not answer");
  } else if (cluster_nodes_ == 0) {
    absl::StrAppend(&sentence, "; the cluster has no node");
  }
  if (!rejection_.empty()) absl::StrAppend(&sentence, "; ", rejection_);
  if (!failures_.left_out().empty()) {
    absl::StrAppend(&sentence,
                    "; left out for failed launches: ", absl::StrJoin(failures_.left_out(), ", "));
  }
  return sentence;
}

void YarnBackend::OnGranted(const ContainerProto& granted) {
  const std::optional<std::string> type = asks_.Take(granted.allocation_request_id());
  if (!type.has_value()) {
    LogInfo("a container is given back: nobody asks for it",
            {{"container", ContainerIdText(granted.id())}, {"peer", granted.nodeid().host()}});
    return Release(granted.id());
  }
  LiveContainer live;
  live.container = {.id = ContainerIdText(granted.id()),
                    .type = *type,
                    .host = granted.nodeid().host(),
                    .host_id = granted.nodeid().host(),
                    .resources = ResourcesOf(granted.resource(), options_.allocation.gpu_resource)};
  if (granted.has_node_http_address()) {
    live.container.log_url =
        ContainerLogUrl(granted.node_http_address(), live.container.id, options_.user);
  }
  if (options_.allocation.isolated_gpus) {
    live.container.gpus.resize(static_cast<size_t>(live.container.resources.gpus));
    std::iota(live.container.gpus.begin(), live.container.gpus.end(), 0);
  }
  live.granted = granted;
  const core::Container container = live.container;
  LogDebug("a container is granted",
           {{"container", container.id}, {"type", container.type}, {"peer", container.host}});
  containers_.insert_or_assign(container.id, std::move(live));
  WatchWaiting();
  listener_.OnContainerGranted(container);
}

void YarnBackend::WarnOfPreemption(const yarn::PreemptionMessageProto& message) {
  const auto warn = [this](const auto& list, bool certain) {
    for (const auto& entry : list) {
      const std::string id = ContainerIdText(entry.id());
      const auto found = containers_.find(id);
      if (found == containers_.end()) continue;
      const auto [warned, first] = preempted_.emplace(id, certain);
      if (!first && (warned->second || !certain)) continue;
      warned->second = certain;
      Warn(absl::StrCat("YARN ", certain ? "will" : "may", " take back container ", id, " (",
                        found->second.container.type, ") on ", found->second.container.host,
                        " for an application with a better right to it (preemption)"));
    }
  };
  warn(message.strictcontract().container(), true);
  warn(message.contract().container(), false);
}

}  // namespace tony::backend
