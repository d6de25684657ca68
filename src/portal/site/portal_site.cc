// Access is checked before anything else but the login itself.
#include "portal/site/portal_site.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/record/duration_text.h"
#include "portal/site/list_json.h"
#include "portal/site/list_page.h"
#include "web/api/api.h"
#include "web/api/render.h"
#include "web/page_files.h"

namespace tony::portal {
namespace {

constexpr absl::string_view kPages = "jobs/";
constexpr absl::string_view kApi = "api/v1/jobs/";
/// Jobs of the page without scripts.
constexpr size_t kPlainJobs = 100;
constexpr absl::string_view kMetrics = "/metrics/jobs";
/// Jobs whose metrics are read: OpenJobs keeps as many open, besides those that people look at.
constexpr size_t kMetricsJobs = 50;

web::HttpResponse NotFound() { return web::ErrorResponse(404, "The portal has no such page."); }

web::HttpResponse Failed(const absl::Status& why) {
  const int status = absl::IsInvalidArgument(why) ? 400 : 503;
  return web::ProblemResponse(status, std::string(why.message()));
}

/// "JOB/rest" as its two parts.
std::pair<std::string, std::string> SplitPlace(const std::string& place) {
  const size_t slash = place.find('/');
  if (slash == std::string::npos) return {place, ""};
  return {place.substr(0, slash), place.substr(slash + 1)};
}

std::vector<std::string> Together(std::vector<std::string> some,
                                  const std::vector<std::string>& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

}  // namespace

PortalSite::PortalSite(Parts parts)
    : parts_(std::move(parts)),
      places_(Together(parts_.locations, parts_.tony_histories)),
      jobs_(parts_.loop, parts_.clock, parts_.most_open_jobs, parts_.log_clusters),
      worker_(parts_.loop) {}

// A change is refused with a sentence that says where it can be made.
std::string PortalSite::Allowed(const std::string& path) const {
  const std::string base = parts_.access.base_path();
  if (!absl::StartsWith(path, base)) return web::OnlyLooking(path);
  const std::string place = path.substr(base.size());
  if (std::string methods = parts_.access.Allowed(place); !methods.empty()) return methods;
  if (absl::StartsWith(place, kPages)) {
    return web::Api::Allowed(SplitPlace(place.substr(kPages.size())).second);
  }
  return web::Api::Allowed(place);
}

void PortalSite::Handle(const web::HttpRequest& request, const web::HttpServer::Respond& respond) {
  const std::string base = parts_.access.base_path();
  const bool below = absl::StartsWith(request.path, base);
  const std::string place = below ? request.path.substr(base.size()) : "";
  if (below && !parts_.access.Allowed(place).empty()) {
    return parts_.access.Handle(request, place, respond);
  }
  if (parts_.metrics_token != nullptr && absl::StartsWith(request.path, kMetrics)) {
    return ServeMetrics(request, respond);
  }
  auto checked = parts_.access.Check(request);
  if (auto* refused = std::get_if<web::HttpResponse>(&checked)) return respond(std::move(*refused));
  if (!below) return respond(NotFound());
  const Visitor& visitor = std::get<Visitor>(checked);
  if (place == "api/v1/session") {
    return respond(web::JsonResponse(web::Dump(SessionJson(visitor))));
  }
  if (place.empty()) return ShowList(respond);
  if (place == "healthz") return respond(web::JsonResponse("{\"status\":\"ok\"}\n"));
  if (place == "api/v1/openapi.json") return respond(web::JsonResponse(PortalOpenApiDocument()));
  if (place == "api/v1/jobs") return ListJobs(request, respond);
  if (place == "api/v1/counts") return CountJobs(request, respond);
  if (absl::StartsWith(place, kApi)) {
    return ShowJob(visitor, request, place.substr(kApi.size()), true, respond);
  }
  if (absl::StartsWith(place, kPages)) {
    return ShowJob(visitor, request, place.substr(kPages.size()), false, respond);
  }
  if (auto file = web::FindPageFile(place, request.accepts_gzip)) return respond(*std::move(file));
  respond(NotFound());
}

void PortalSite::ShowList(const web::HttpServer::Respond& respond) {
  worker_.Run<JobPage>(
      nullptr,
      [&index = parts_.index](const Worker::Stop&) { return index.List({.limit = kPlainJobs}); },
      [this, respond](const absl::StatusOr<JobPage>& page) {
        if (!page.ok()) {
          return respond(web::ErrorResponse(503, std::string(page.status().message())));
        }
        web::HttpResponse response;
        response.body =
            RenderListPage(*page, places_, parts_.indexer.progress(), parts_.clock.UnixMillis());
        respond(std::move(response));
      });
}

void PortalSite::ListJobs(const web::HttpRequest& request,
                          const web::HttpServer::Respond& respond) {
  web::Parameters parameters(request.query);
  const JobWish wish = ReadWish(parameters);
  if (parameters.problem()) return respond(web::ProblemResponse(400, *parameters.problem()));
  worker_.Run<JobPage>(
      request.abandoned,
      [&index = parts_.index, wish](const Worker::Stop&) { return index.List(wish); },
      [this, respond](const absl::StatusOr<JobPage>& page) {
        if (!page.ok()) return respond(Failed(page.status()));
        respond(web::JsonResponse(web::Dump(
            JobPageJson(*page, places_, parts_.indexer.progress(), parts_.clock.UnixMillis()))));
      });
}

void PortalSite::CountJobs(const web::HttpRequest& request,
                           const web::HttpServer::Respond& respond) {
  worker_.Run<JobCounts>(
      request.abandoned, [&index = parts_.index](const Worker::Stop&) { return index.Count(); },
      [respond](const absl::StatusOr<JobCounts>& counts) {
        if (!counts.ok()) return respond(Failed(counts.status()));
        respond(web::JsonResponse(web::Dump(CountsJson(*counts))));
      });
}

// A job that is over is not listed: what does not change any more need not be read again.
void PortalSite::ServeMetrics(const web::HttpRequest& request,
                              const web::HttpServer::Respond& respond) {
  if (auto refused = parts_.access.CheckSender(request)) return respond(*std::move(refused));
  if (auto refused = parts_.metrics_token->Check(request)) return respond(*std::move(refused));
  const std::string place = request.path.substr(kMetrics.size());
  if (!place.empty()) {
    const absl::StatusOr<JobKey> key =
        place[0] == '/' ? JobOfAddress(parts_.locations, place.substr(1)) : absl::NotFoundError("");
    if (!key.ok()) return respond(web::ProblemResponse(404, "The portal has no such job."));
    const std::string base = absl::StrCat(parts_.access.base_path(), kPages, place.substr(1), "/");
    const Visitor program{"", Role::kView, "token"};
    return jobs_.Handle(*key, base, program, request, "metrics", true, respond);
  }
  worker_.Run<JobPage>(
      request.abandoned,
      [&index = parts_.index](const Worker::Stop&) {
        return index.List({.alive = true, .limit = kMetricsJobs});
      },
      [this, host = request.host, respond](const absl::StatusOr<JobPage>& page) {
        if (!page.ok()) return respond(Failed(page.status()));
        respond(web::JsonResponse(web::Dump(TargetsJson(*page, places_, host, kMetrics))));
      });
}

void PortalSite::ShowJob(const Visitor& visitor, const web::HttpRequest& request,
                         const std::string& place, bool api,
                         const web::HttpServer::Respond& respond) {
  const auto [address, rest] = SplitPlace(place);
  const absl::StatusOr<JobKey> key = JobOfAddress(places_, address);
  if (!key.ok()) return respond(NotFound());
  if (std::find(parts_.tony_histories.begin(), parts_.tony_histories.end(), key->first) !=
      parts_.tony_histories.end()) {
    return ShowHistory(*key, respond);
  }
  // The page's links are relative to a folder.
  if (!api && address.size() == place.size()) {
    web::HttpResponse response;
    response.status = 303;
    response.headers.emplace_back("Location", absl::StrCat(address, "/"));
    return respond(std::move(response));
  }
  const std::string base = absl::StrCat(parts_.access.base_path(), kPages, address, "/");
  const std::string in_api = absl::StrCat(kApi, key->second, rest.empty() ? "" : "/", rest);
  jobs_.Handle(*key, base, visitor, request, api ? in_api : rest, api, respond);
}

// Its status is that of a thing that is not there, for the scripts that ask for a job's parts.
void PortalSite::ShowHistory(const JobKey& key, const web::HttpServer::Respond& respond) {
  worker_.Run<std::optional<IndexedJob>>(
      nullptr,
      [&index = parts_.index, key](const Worker::Stop&) {
        return index.Find(key.first, key.second);
      },
      [respond, key](const absl::StatusOr<std::optional<IndexedJob>>& found) {
        if (!found.ok()) return respond(Failed(found.status()));
        if (!*found) return respond(NotFound());
        const IndexedJob& job = **found;
        respond(web::ErrorResponse(
            404, absl::StrCat("Job ", key.second, " of ", job.entry.user, " has run under TonY",
                              job.entry.ended_millis == 0
                                  ? ", and its history has no end"
                                  : absl::StrCat(" for ", core::FormatDuration(job.duration_millis),
                                                 " and ended as ", job.entry.state),
                              ". TonY's histories record no more of what this portal's pages show; "
                              "the file itself lies below ",
                              key.first, ".")));
      });
}

}  // namespace tony::portal
