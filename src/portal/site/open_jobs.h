// The jobs whose pages somebody looks at: each is read from its folder once, and then kept a while.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "common/worker.h"
#include "portal/index/job_index.h"
#include "portal/login/portal_access.h"
#include "portal/site/job_stopper.h"
#include "portal/site/log_copies.h"
#include "web/access/access.h"
#include "web/http/http_server.h"

namespace tony::portal {

/// Not thread safe: owned by the event loop.
class OpenJobs {
 public:
  /// Jobs that are kept for one visitor. One more, and of those whose streams nobody reads the one
  /// that was not asked for longest is closed.
  static constexpr size_t kMost = 8;
  static constexpr std::chrono::minutes kIdle{10};
  static constexpr std::chrono::seconds kRefresh{1};
  static constexpr std::chrono::seconds kMetricsPause{20};
  /// The same for a job of which only Prometheus reads: of its past it needs the names alone.
  static constexpr std::chrono::minutes kUnwatchedPause{5};

  /// Both references must outlive this. `most`: jobs that are kept. `log_clusters`: where the logs
  /// of clusters' jobs are copied from.
  OpenJobs(EventLoop& loop, const Clock& clock, size_t most = kMost, LogClusters log_clusters = {});
  ~OpenJobs();

  /// Answers `request`, which may be answered, for the job `key`. `base`: the path of the job's
  /// page; `visitor`: who asks; `place`: what is asked for below it, or with `api` a path of the
  /// API with this job's id.
  void Handle(const JobKey& key, const std::string& base, const Visitor& visitor,
              const web::HttpRequest& request, const std::string& place, bool api,
              const web::HttpServer::Respond& respond);

 private:
  class OpenJob;
  /// A request that waits until its job has been read.
  using Waiting = std::function<void(const absl::StatusOr<OpenJob*>&)>;
  struct Loading {
    JobKey key;
    std::vector<Waiting> waiting;
  };

  OpenJob* Find(const JobKey& key);
  void Load(const JobKey& key, const std::string& base, Waiting waiting);
  /// Closes a job that no stream reads, if there is no room for another one. Returns whether there
  /// is room.
  bool MakeRoom();
  /// Reads on in living jobs, and closes idle ones.
  void Tick();

  EventLoop& loop_;
  const Clock& clock_;
  const size_t most_;
  /// Reads pages of events, which wait for no other job's history. Before the jobs, which use it.
  Worker event_worker_;
  JobStopper stopper_;                        ///< before the jobs, which use it
  LogCopies log_copies_;                      ///< before the jobs, which use it
  std::list<std::unique_ptr<OpenJob>> jobs_;  ///< the one that was used last first
  std::list<Loading> loading_;
  Worker worker_;  ///< reads histories
  std::unique_ptr<EventLoop::Handle> timer_;
};

}  // namespace tony::portal
