// A cluster that does not answer delays the logs of its own jobs only.
#include "portal/site/log_copies.h"

#include <algorithm>
#include <utility>

#include "common/logging.h"
#include "common/status_macros.h"
#include "portal/index/job_place.h"
#include "portal/mirror/mirrored_logs.h"

namespace tony::portal {
namespace {

/// Whether what is missing may come at any moment. A full disk does not become empty so soon.
bool MayComeSoon(const absl::Status& status) {
  return status.ok() || absl::IsNotFound(status) || absl::IsUnavailable(status) ||
         absl::IsDeadlineExceeded(status);
}

}  // namespace

LogCopies::LogCopies(EventLoop& loop, const Clock& clock, LogClusters clusters)
    : loop_(loop), clock_(clock), clusters_(std::move(clusters)) {
  for (const auto& [location, open] : clusters_) {
    const MirroredLogs logs(location, clock_);
    if (!logs.HasRests()) continue;
    WorkerOf(location).Run<bool>(
        nullptr,
        [logs](const Worker::Stop&) {
          logs.RemoveRests();
          return true;
        },
        [](const absl::StatusOr<bool>&) {});
  }
}

LogCopies::~LogCopies() { stop_.request_stop(); }

Worker& LogCopies::WorkerOf(const std::string& location) {
  std::unique_ptr<Worker>& worker = workers_[location];
  if (worker == nullptr) worker = std::make_unique<Worker>(loop_);
  return *worker;
}

void LogCopies::Forget() {
  const TimePoint now = clock_.Now();
  std::erase_if(tries_, [now](const auto& job) {
    return !job.second.copying && now >= job.second.next + kLongestPause;
  });
}

void LogCopies::Ask(const JobKey& key, std::function<void()> done) {
  Forget();
  const auto& [location, id] = key;
  const auto waiting = std::count_if(tries_.begin(), tries_.end(), [&](const auto& job) {
    return job.second.copying && job.first.first == location;
  });
  const auto found = tries_.find(key);
  const bool due =
      found == tries_.end() || (!found->second.copying && clock_.Now() >= found->second.next);
  if (!due || static_cast<size_t>(waiting) >= kMostWaiting) return;
  tries_[key].copying = true;
  // Worker's results are absl::StatusOr<>; there is nothing to be returned here.
  WorkerOf(location).Run<bool>(
      nullptr,
      [location, id, &clock = clock_, open = clusters_.at(location),
       stop = stop_.get_token()](const Worker::Stop&) -> absl::StatusOr<bool> {
        TONY_ASSIGN_OR_RETURN(const backend::YarnCluster cluster, open(stop));
        TONY_RETURN_IF_ERROR(MirroredLogs(location, clock).Copy(cluster, id, stop));
        return true;
      },
      [this, key, done = std::move(done)](const absl::StatusOr<bool>& copied) {
        OnCopied(key, copied.status());
        if (done != nullptr) done();
      });
}

void LogCopies::OnCopied(const JobKey& key, const absl::Status& status) {
  Tries& tries = tries_[key];
  tries.copying = false;
  tries.why = status.ok() ? "" : std::string(status.message());
  if (!status.ok()) {
    LogDebug("logs of a cluster's job are not copied", {{"job", key.second}, {"why", tries.why}});
  }
  if (!MayComeSoon(status)) tries.pause = kLongestPause;
  tries.next = clock_.Now() + tries.pause;
  tries.pause = std::min<Duration>(2 * tries.pause, kLongestPause);
}

bool LogCopies::IsCopying(const JobKey& key) const {
  const auto found = tries_.find(key);
  return found != tries_.end() && found->second.copying;
}

std::string LogCopies::WhyNot(const JobKey& key) const {
  const auto found = tries_.find(key);
  return found == tries_.end() ? "" : found->second.why;
}

}  // namespace tony::portal
