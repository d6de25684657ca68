// The portal's pages and API, and the address of each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "common/worker.h"
#include "portal/index/indexer.h"
#include "portal/index/job_index.h"
#include "portal/login/portal_access.h"
#include "portal/site/open_jobs.h"
#include "web/access/metrics_token.h"
#include "web/http/http_server.h"

namespace tony::portal {

/// Serves, below the access's base path:
///
///   (nothing)                      the list of jobs
///   jobs/JOB/…                     a job's page with all that belongs to it
///   api/v1/jobs, api/v1/counts     the list for programs
///   api/v1/jobs/JOB/…              a job's API
///   api/v1/session                 who is looking
///   api/v1/openapi.json, healthz
///   the addresses of the login     if the access has any
///
/// and to programs with a token, wherever the base path leads:
///
///   /metrics/jobs                  which jobs run, for Prometheus' http_sd_configs
///   /metrics/jobs/JOB              the metrics of one
///
/// Every question to the index is asked on a thread. Not thread safe: owned by the event loop.
class PortalSite {
 public:
  /// All must outlive the site.
  struct Parts {
    EventLoop& loop;
    const Clock& clock;
    PortalAccess& access;
    JobIndex& index;
    const Indexer& indexer;
    std::vector<std::string> locations;
    std::vector<std::string> tony_histories = {};  ///< further locations, behind the others
    size_t most_open_jobs = OpenJobs::kMost;
    web::MetricsToken* metrics_token = nullptr;  ///< null: no program reads metrics with a token
    LogClusters log_clusters = {};               ///< where logs of locations of copies are
  };

  explicit PortalSite(Parts parts);

  /// The methods of a path, for HttpServer.
  std::string Allowed(const std::string& path) const;
  /// The handler for HttpServer.
  void Handle(const web::HttpRequest& request, const web::HttpServer::Respond& respond);

 private:
  void ShowList(const web::HttpServer::Respond& respond);
  void ListJobs(const web::HttpRequest& request, const web::HttpServer::Respond& respond);
  void CountJobs(const web::HttpRequest& request, const web::HttpServer::Respond& respond);
  /// Answers a request to kMetrics of portal_site.cc or below it.
  void ServeMetrics(const web::HttpRequest& request, const web::HttpServer::Respond& respond);
  /// `place`: what is asked for behind "jobs/" or, with `api`, behind "api/v1/jobs/".
  void ShowJob(const Visitor& visitor, const web::HttpRequest& request, const std::string& place,
               bool api, const web::HttpServer::Respond& respond);

  /// A job of a history of TonY's, of which there is no page but a sentence.
  void ShowHistory(const JobKey& key, const web::HttpServer::Respond& respond);

  const Parts parts_;
  const std::vector<std::string> places_;  ///< all locations, in the order of their numbers
  OpenJobs jobs_;
  Worker worker_;  ///< asks the index
};

}  // namespace tony::portal
