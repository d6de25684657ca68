// Orders go to the launcher, grants come from executors, ends from both.
#include "backend/launcher/launcher_backend.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "core/model/container_id.h"

namespace tony::backend {
namespace {

/// How often in a row an order may come to nothing.
constexpr int kMostFailures = 10;

}  // namespace

LauncherBackend::LauncherBackend(EventLoop& loop, LauncherBackendOptions options,
                                 Listener& listener)
    : loop_(loop),
      options_(std::move(options)),
      listener_(listener),
      socket_(loop, std::move(options_.socket),
              {[this](const std::string& packet) { OnPacket(packet); },
               [this](const std::string& why) { Lose(why); }}) {}

LauncherBackend::~LauncherBackend() {
  for (auto& [id, live] : containers_) {
    if (live.answer) live.answer(absl::CancelledError("the job is over"));
  }
}

// An order that was lost with its ApplicationMaster may still be under way, and its id is in no
// journal. So the ids of each ApplicationMaster are its own.
std::string LauncherBackend::NextId() {
  return core::ContainerId(options_.job_id,
                           {.incarnation = options_.incarnation, .number = ++last_number_});
}

void LauncherBackend::SayHello() {
  if (std::exchange(greeted_, true)) return;
  std::vector<std::string> ids;
  for (const auto& [id, live] : containers_) ids.push_back(id);
  socket_.Send(HelloPacket(options_.job_id, options_.incarnation, ids));
  for (const LauncherFile& file : options_.files) socket_.Send(FilePacket(file));
}

void LauncherBackend::Send(std::string packet) {
  SayHello();
  socket_.Send(std::move(packet));
}

void LauncherBackend::Reclaim(const std::vector<core::Container>& containers) {
  for (const core::Container& container : containers) {
    containers_[container.id] = {
        .request = {.type = container.type, .count = 1, .resources = container.resources},
        .state = State::kRunning,
        .answer = nullptr};
  }
  // The launcher reports the ends of those that it does not run any more.
  SayHello();
}

void LauncherBackend::Request(const std::vector<core::ContainerRequest>& requests) {
  for (const core::ContainerRequest& request : requests) {
    for (int i = 0; i < request.count; ++i) Order(request);
  }
}

void LauncherBackend::Order(const core::ContainerRequest& request) {
  const std::string id = NextId();
  const absl::StatusOr<std::string> voucher = options_.make_voucher(id);
  if (!voucher.ok()) {
    return loop_.Post(lifetime_.Guard([this, why = std::string(voucher.status().message())] {
      Refuse(why, /*never_fits=*/false);
    }));
  }
  // Before this order is noted: it names the containers of earlier ApplicationMasters only.
  SayHello();
  containers_[id] = {.request = request, .state = State::kOrdered, .answer = nullptr};
  Send(StartPacket(id, request, *voucher));
}

void LauncherBackend::OnRedeemed(const core::Container& place, Answer answer) {
  const auto found = containers_.find(place.id);
  if (found == containers_.end() || found->second.state != State::kOrdered) {
    LogInfo("an executor comes too late", {{"container", place.id}, {"host", place.host}});
    return answer(absl::NotFoundError("the container is not awaited any more"));
  }
  LiveContainer& live = found->second;
  if (std::cmp_less(place.gpus.size(), live.request.resources.gpus)) {
    const std::string sentence = absl::StrCat(
        "the launcher has given a container on ", place.host, " ", place.gpus.size(),
        " GPUs, and tony.", live.request.type, ".gpus is ", live.request.resources.gpus);
    answer(absl::FailedPreconditionError(sentence));
    return Refuse(sentence, /*never_fits=*/false);
  }
  LogInfo("an executor has redeemed its voucher",
          {{"container", place.id}, {"host", place.host}, {"pid", place.executor.pid}});
  failures_ = 0;
  live.state = State::kGranted;
  live.answer = std::move(answer);
  core::Container container = place;
  container.type = live.request.type;
  container.resources = live.request.resources;
  listener_.OnContainerGranted(container);
}

void LauncherBackend::Launch(const std::string& container_id, const core::LaunchContext& context) {
  const auto found = containers_.find(container_id);
  if (found == containers_.end() || found->second.state != State::kGranted) {
    return LogDebug("a launch comes too late", {{"container", container_id}});
  }
  found->second.state = State::kRunning;
  std::exchange(found->second.answer, nullptr)(context);
}

void LauncherBackend::Kill(const std::string& container_id) {
  const auto found = containers_.find(container_id);
  if (found == containers_.end()) {
    return LogDebug("a kill finds no container", {{"container", container_id}});
  }
  Send(KillPacket(container_id, /*gone=*/false));
  if (found->second.state != State::kRunning) {
    Drop(container_id, absl::CancelledError("the container is not needed any more"));
  }
}

void LauncherBackend::OnExecutorLeft(const std::string& container_id,
                                     const core::ContainerEnd& end) {
  if (!containers_.contains(container_id)) return;
  Send(KillPacket(container_id, /*gone=*/true));
  Drop(container_id, absl::CancelledError("its executor has ended"));
  loop_.Post(lifetime_.Guard(
      [this, container_id, end] { listener_.OnContainerEnded(container_id, end); }));
}

void LauncherBackend::CancelRequests() {
  std::vector<std::string> ordered;
  for (const auto& [id, live] : containers_) {
    if (live.state == State::kOrdered) ordered.push_back(id);
  }
  for (const std::string& id : ordered) Kill(id);
}

void LauncherBackend::OnPacket(const std::string& packet) {
  if (lost_) return;
  const absl::StatusOr<LauncherReport> report = ParseReport(packet);
  if (!report.ok()) return Lose(std::string(report.status().message()));
  std::visit([this](const auto& kind) { On(kind); }, *report);
}

void LauncherBackend::On(const ContainerReport& report) {
  const auto found = containers_.find(report.container_id);
  if (found == containers_.end()) {
    return LogDebug("the end of a container is known already",
                    {{"container", report.container_id}});
  }
  LogInfo("a container has ended",
          {{"container", report.container_id}, {"how", report.end.sentence}});
  const State state = found->second.state;
  const core::ContainerRequest request = found->second.request;
  Drop(report.container_id, absl::CancelledError(report.end.sentence));
  if (state == State::kOrdered) return OrderAgain(request, report.end.sentence);
  listener_.OnContainerEnded(report.container_id, report.end);
}

// The core has not heard of the container yet, so it need not hear of its end.
void LauncherBackend::OrderAgain(const core::ContainerRequest& request, const std::string& why) {
  if (++failures_ < kMostFailures) return Order(request);
  Refuse(absl::StrCat("the launcher could not start tony-executor ", failures_,
                      " times in a row; the last time: ", why),
         /*never_fits=*/false);
}

void LauncherBackend::On(const WaitingReport& report) {
  listener_.OnAllocationWaiting(report.sentence, report.unblock);
}

void LauncherBackend::On(const RefusalReport& report) {
  Refuse(report.sentence, report.never_fits);
}

void LauncherBackend::On(const UnknownReport& report) {
  LogDebug("a report of an unknown type is ignored", {{"type", report.type}});
}

void LauncherBackend::Refuse(const std::string& sentence, bool never_fits) {
  LogWarning("a request is refused", {{"why", sentence}, {"ever", never_fits ? "no" : "yes"}});
  CancelRequests();
  failures_ = 0;  // what is requested from now on has as many attempts
  listener_.OnAllocationRefused(never_fits, sentence);
}

void LauncherBackend::Lose(const std::string& why) {
  if (std::exchange(lost_, true)) return;
  LogError(absl::StrCat("there is no launcher any more: ", why), {{"job", options_.job_id}});
  options_.on_lost(why);
}

void LauncherBackend::Drop(const std::string& container_id, const absl::Status& why) {
  const auto found = containers_.find(container_id);
  options_.void_voucher(container_id);
  if (found->second.answer) found->second.answer(why);
  containers_.erase(found);
}

}  // namespace tony::backend
