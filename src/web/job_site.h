// The pages of one job, and the address of each.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/record/observed_job.h"
#include "web/access/access.h"
#include "web/api/api.h"
#include "web/gate/program_gate.h"
#include "web/http/http_server.h"
#include "web/log_source.h"

namespace tony::web {

/// Serves, below the access's base path, the job's page, its style, and the last part of each log
/// as plain text; the way to the job's program; and the API. To programs with a token it serves the
/// metrics at kMetricsPath, wherever the base path leads. Not thread safe: owned by the event loop.
class JobSite {
 public:
  /// Largest part of a log that is shown.
  static constexpr size_t kMostLogBytes = size_t{256} * 1024;
  static constexpr char kMetricsPath[] = "/metrics";

  /// The sources of what the pages show; all must outlive the site.
  struct Sources {
    Access& access;
    LogSource& logs;
    std::function<const core::ObservedJob&()> job;  ///< returns the current state
    std::function<int64_t()> now_millis;            ///< Unix time
    Api* api = nullptr;                             ///< null: there is only the page
    ProgramGate* gate = nullptr;  ///< null: the page cannot lead to the job's program
    /// Returns the answer to send instead of the metrics, as MetricsToken::Check() does; null:
    /// there are none at kMetricsPath.
    std::function<std::optional<HttpResponse>(const HttpRequest&)> check_metrics = nullptr;
  };

  explicit JobSite(Sources sources) : sources_(std::move(sources)) {}

  /// The methods of a path, for HttpServer.
  std::string Allowed(const std::string& path) const;
  /// The handler for HttpServer.
  void Handle(const HttpRequest& request, const HttpServer::Respond& respond);

 private:
  void ShowLog(const std::string& place, const HttpServer::Respond& respond);

  const Sources sources_;
};

}  // namespace tony::web
