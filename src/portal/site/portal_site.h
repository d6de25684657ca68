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
#include "portal/site/open_jobs.h"
#include "web/access/access.h"
#include "web/http/http_server.h"

namespace tony::portal {

/// Serves, below the access's base path:
///
///   (nothing)                      the list of jobs
///   jobs/JOB/…                     a job's page with all that belongs to it
///   api/v1/jobs, api/v1/counts     the list for programs
///   api/v1/jobs/JOB/…              a job's API
///   api/v1/openapi.json, healthz
///
/// Every question to the index is asked on a thread. Not thread safe: owned by the event loop.
class PortalSite {
 public:
  /// All must outlive the site.
  struct Parts {
    EventLoop& loop;
    const Clock& clock;
    web::Access& access;
    JobIndex& index;
    const Indexer& indexer;
    std::vector<std::string> locations;
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
  /// `place`: what is asked for behind "jobs/" or, with `api`, behind "api/v1/jobs/".
  void ShowJob(const web::HttpRequest& request, const std::string& place, bool api,
               const web::HttpServer::Respond& respond);

  const Parts parts_;
  OpenJobs jobs_;
  Worker worker_;  ///< asks the index
};

}  // namespace tony::portal
