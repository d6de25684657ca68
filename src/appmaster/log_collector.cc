// A container's place among those of its task is its own number, which another ApplicationMaster
// knows, too: it writes the same files from their begin.
#include "appmaster/log_collector.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "core/model/container_id.h"
#include "tony/v1/application_master.pb.h"

namespace tony::appmaster {
namespace {

/// The pause grows by this with each retry, up to kMostPauses times. An executor whose stream is
/// broken comes back, or its container is given up.
constexpr std::chrono::milliseconds kRetryPause{500};
constexpr int kMostPauses = 20;
/// Beyond that only this process's log tells whose last lines are missing.
constexpr int kMostNotes = 20;
/// How long the last lines may take. An executor that ends waits for its readers, too.
constexpr std::chrono::seconds kLastLines{10};

history::LogSelection Everything() {
  history::LogSelection selection;
  selection.executor = true;
  return selection;
}

/// Containers for which there are places before those of the next ApplicationMaster. Two of one
/// task would have to be just as many apart to share a place.
constexpr int kPlacesOfMaster = 2000;

int PlaceOf(const core::ContainerNumber& container) {
  return (container.incarnation - 1) * kPlacesOfMaster + container.number;
}

}  // namespace

LogCollector::LogCollector(std::string job_id, storage::JobFolder folder, rpc::TunnelDialer dialer,
                           Note note)
    : job_id_(std::move(job_id)),
      dialer_(std::move(dialer)),
      note_(std::move(note)),
      mirror_(std::move(folder)),
      thread_([this] { loop_.Run(); }) {}

LogCollector::~LogCollector() {
  loop_.Post([this] { loop_.Stop(); });
  thread_.join();
  copies_.clear();  // their callbacks post to the loop
}

void LogCollector::Follow(const core::TaskId& task, const std::string& container) {
  loop_.Post([this, task, container] {
    const auto [found, is_new] = copies_.try_emplace(container);
    if (!is_new) return;
    found->second.origin = {.task = task.ToString(),
                            .folder = task.ToPath(),
                            .container = container,
                            .url = "",
                            .order = PlaceOf(core::NumberOfContainer(job_id_, container))};
    Open(found->second);
  });
}

void LogCollector::Open(Copy& copy) {
  copy.receiver = std::make_unique<history::LogReceiver>(
      loop_, mirror_, copy.origin, history::WishFor(copy.origin, Everything(), /*follow=*/true),
      std::nullopt, dialer_,
      history::LogReceiver::Callbacks{
          nullptr, [this, container = copy.origin.container](const absl::Status& status) {
            OnReceived(container, status);
          }});
}

// NotFound: the job does not hold the container any more.
void LogCollector::OnReceived(const std::string& container, const absl::Status& status) {
  Copy& copy = copies_.at(container);
  copy.receiver.reset();
  if (!status.ok() && !absl::IsNotFound(status) && !done_) {
    copy.retries = std::min(copy.retries + 1, kMostPauses);
    copy.retry = loop_.After(copy.retries * kRetryPause, [this, &copy] { Open(copy); });
    return;
  }
  if (!status.ok()) SayIncomplete(copy, std::string(status.message()));
  copies_.erase(container);
  EndIfAllCame();
}

void LogCollector::SayIncomplete(const Copy& copy, const std::string& why) {
  LogWarning("the end of a container's logs has not come",
             {{"task", copy.origin.task}, {"container", copy.origin.container}, {"why", why}});
  if (++notes_ > kMostNotes) return;
  note_(absl::StrCat("The last lines of ", copy.origin.task, " may be missing, from its container ",
                     copy.origin.container, ": ", why,
                     notes_ == kMostNotes ? "; further ones are named in am.log only" : ""));
}

void LogCollector::AwaitAll(std::function<void()> done) {
  loop_.Post([this, done = std::move(done)]() mutable {
    done_ = std::move(done);
    // Executors that cannot be reached now will not be any more.
    std::erase_if(copies_, [this](const auto& entry) {
      const bool waits = entry.second.receiver == nullptr;
      if (waits) SayIncomplete(entry.second, "its executor was lost");
      return waits;
    });
    deadline_ = loop_.After(kLastLines, [this] {
      for (const auto& [container, copy] : copies_) {
        SayIncomplete(copy, absl::StrCat("they have not come within ", kLastLines.count(), " s"));
      }
      copies_.clear();
      EndIfAllCame();
    });
    EndIfAllCame();
  });
}

void LogCollector::EndIfAllCame() {
  if (!done_ || !copies_.empty()) return;
  deadline_.reset();
  std::exchange(done_, nullptr)();
}

}  // namespace tony::appmaster
