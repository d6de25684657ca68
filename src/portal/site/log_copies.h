// Copies logs of clusters' jobs, on threads.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "common/worker.h"
#include "portal/index/job_index.h"
#include "portal/mirror/mirror_source.h"

namespace tony::portal {

/// The clusters by the locations of the copies of their jobs' records.
using LogClusters = std::map<std::string, FindCluster>;

/// For each location, one job after the other, on a thread that is started by the first one. What
/// could not be copied, or not as a whole, is done again at the earliest after a pause that grows
/// each time, whoever asks. Not thread safe: owned by the event loop.
class LogCopies {
 public:
  static constexpr std::chrono::seconds kFirstPause{5};
  static constexpr std::chrono::minutes kLongestPause{10};
  /// Jobs of one location that wait for their turn.
  static constexpr size_t kMostWaiting = 16;

  /// Both references must outlive this.
  LogCopies(EventLoop& loop, const Clock& clock, LogClusters clusters);
  /// Ends what is under way: a call to a cluster is broken off within a second or so.
  ~LogCopies();

  /// Whether there is a cluster with the logs of the location's jobs.
  bool CanCopy(const std::string& location) const { return clusters_.contains(location); }

  /// Has the logs of a job of such a location copied, whose records were copied, if that is not
  /// done or waited for already, and it is time. `done`, which may be null, is called on the loop
  /// when a copy that this call has begun is over.
  void Ask(const JobKey& key, std::function<void()> done = nullptr);
  /// Whether the job's logs are being copied, or wait for their turn.
  bool IsCopying(const JobKey& key) const;
  /// Why the last copy has failed; empty: it has not, or there was none lately.
  std::string WhyNot(const JobKey& key) const;

 private:
  /// The copies of one job.
  struct Tries {
    bool copying = false;
    std::string why;
    Duration pause = kFirstPause;
    TimePoint next{};
  };

  Worker& WorkerOf(const std::string& location);
  void OnCopied(const JobKey& key, const absl::Status& status);
  /// Forgets jobs that nobody has asked for since their pauses are over.
  void Forget();

  EventLoop& loop_;
  const Clock& clock_;
  const LogClusters clusters_;
  std::map<JobKey, Tries> tries_;
  std::stop_source stop_;
  std::map<std::string, std::unique_ptr<Worker>> workers_;  ///< by location
};

}  // namespace tony::portal
