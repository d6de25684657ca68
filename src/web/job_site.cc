// Access is checked before anything else, and paths are compared with the job's own tasks, so a
// request can reach nothing but this job.
#include "web/job_site.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/model/task_path.h"
#include "web/job_page.h"
#include "web/page_files.h"

namespace tony::web {
namespace {

/// A log, as named by LogLink().
struct LogLocation {
  core::TaskId task;
  int attempt = 0;
  LogSource::Stream stream = LogSource::Stream::kStdout;
};

/// Parses a path; nothing if it is not a log of the job.
std::optional<LogLocation> FindLog(const core::JobView& view, const std::string& place) {
  const std::vector<std::string> parts = absl::StrSplit(place, '/');
  LogLocation log;
  if (parts.size() != 3 || !absl::StartsWith(parts[1], "attempt-") ||
      !absl::SimpleAtoi(parts[1].substr(8), &log.attempt)) {
    return std::nullopt;
  }
  if (parts[2] != "stdout" && parts[2] != "stderr") return std::nullopt;
  if (parts[2] == "stderr") log.stream = LogSource::Stream::kStderr;
  const std::optional<core::TaskId> named = core::TaskFromPath(parts[0]);
  if (!named) return std::nullopt;
  log.task = *named;
  // The task and the attempt become part of a file's path elsewhere. So only a task of the job is
  // accepted, in exactly its canonical spelling.
  const core::JobView::Task* const task = view.FindTask(log.task);
  if (task == nullptr || log.task.ToPath() != parts[0]) return std::nullopt;
  if (log.attempt < 1 || log.attempt > task->last.attempt) return std::nullopt;
  return log;
}

HttpResponse NotFound() { return ErrorResponse(404, "The job has no such page."); }

HttpResponse LogResponse(const absl::StatusOr<LogTail>& tail, const std::string& command) {
  if (absl::IsNotFound(tail.status())) {
    return ErrorResponse(404, "There is no such log (yet).");
  }
  if (!tail.ok()) {
    return ErrorResponse(
        503, absl::StrCat("The log cannot be read: ", std::string(tail.status().message())));
  }
  HttpResponse response;
  response.content_type = "text/plain; charset=utf-8";
  if (tail->left_out == 0) {
    response.body = tail->bytes;
    return response;
  }
  // The text begins at the beginning of a line.
  const size_t begin = tail->bytes.find('\n') + 1;
  response.body = absl::StrCat("[", tail->left_out + static_cast<int64_t>(begin),
                               " bytes before this are not shown; all of it: ", command, "]\n",
                               tail->bytes.substr(begin));
  return response;
}

}  // namespace

std::string JobSite::Allowed(const std::string& path) const {
  const std::string base = sources_.access.base_path();
  if (sources_.api == nullptr || !absl::StartsWith(path, base)) return OnlyLooking(path);
  return Api::Allowed(path.substr(base.size()));
}

void JobSite::Handle(const HttpRequest& request, const HttpServer::Respond& respond) {
  if (sources_.check_metrics != nullptr && request.path == kMetricsPath) {
    if (auto refused = sources_.check_metrics(request)) return respond(*std::move(refused));
    return sources_.api->Handle(request, "metrics", {.refuse_change = nullptr, .may_change = false},
                                respond);
  }
  if (std::optional<HttpResponse> refused = sources_.access.Check(request)) {
    return respond(*std::move(refused));
  }
  const std::string base = sources_.access.base_path();
  if (!absl::StartsWith(request.path, base)) return respond(NotFound());
  const std::string place = request.path.substr(base.size());
  if (sources_.api != nullptr && Api::Owns(place)) {
    return sources_.api->Handle(request, place,
                                {[&] { return sources_.access.CheckChange(request); },
                                 sources_.access.may_change(), sources_.access.visitor()},
                                respond);
  }
  if (place.empty()) {
    const core::ObservedJob& job = sources_.job();
    if (job.view.last_sequence == 0) {
      return respond(ErrorResponse(
          503, "What has happened in this job so far is being read; look again in a second."));
    }
    HttpResponse page;
    page.body = RenderJobPage(job, sources_.now_millis(), sources_.gate != nullptr);
    if (sources_.gate != nullptr) page.frames = {sources_.gate->origin()};
    return respond(std::move(page));
  }
  if (std::optional<HttpResponse> file = FindPageFile(place, request.accepts_gzip)) {
    return respond(*std::move(file));
  }
  if (place == kProgramLink && sources_.gate != nullptr) {
    HttpResponse way;
    way.status = 303;
    way.headers.emplace_back("Location", sources_.gate->Invite());
    return respond(std::move(way));
  }
  constexpr char kLogs[] = "logs/";
  if (absl::StartsWith(place, kLogs)) return ShowLog(place.substr(sizeof kLogs - 1), respond);
  respond(NotFound());
}

// The log is read asynchronously, perhaps from another machine, so the callback holds copies of
// what it needs.
void JobSite::ShowLog(const std::string& place, const HttpServer::Respond& respond) {
  const core::JobView& view = sources_.job().view;
  const std::optional<LogLocation> log = FindLog(view, place);
  if (!log) return respond(NotFound());
  const std::string command =
      absl::StrCat("tony logs ", view.job.job_id, " ", log->task.ToString());
  sources_.logs.ReadTail(log->task, log->attempt, log->stream, kMostLogBytes,
                         [respond, command](const absl::StatusOr<LogTail>& tail) {
                           respond(LogResponse(tail, command));
                         });
}

}  // namespace tony::web
