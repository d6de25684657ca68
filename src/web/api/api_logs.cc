// The resources that read logs: a block of one, several merged, all of one, and the first error.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/model/task_path.h"
#include "logs/level_filter.h"
#include "web/api/api.h"
#include "web/api/render.h"

namespace tony::web {
namespace {

constexpr size_t kMostPattern = 1024;

/// The level that a request for lines names; empty: all.
std::string LevelIn(Parameters& parameters) {
  return parameters.Choice("level", {"debug", "info", "warning", "error"}, "");
}

HttpResponse Elsewhere(const std::string& job_id, const std::string& note = "") {
  const std::string command = absl::StrCat("tony logs ", job_id);
  return ProblemResponse(503,
                         absl::StrCat("The logs lie on the machines of the tasks, and this page "
                                      "cannot read them there in this way; the command  ",
                                      command, "  can.", note.empty() ? "" : " ", note),
                         command);
}

HttpResponse LogProblem(const absl::Status& status, const std::string& job_id) {
  const std::string why(status.message());
  if (absl::IsUnimplemented(status)) return Elsewhere(job_id);
  if (absl::IsNotFound(status)) return ProblemResponse(404, "There is no such log (yet).");
  if (absl::IsInvalidArgument(status)) return ProblemResponse(400, why);
  if (absl::IsResourceExhausted(status)) return ProblemResponse(429, why);
  return ProblemResponse(503, absl::StrCat("The log cannot be read: ", why));
}

/// Answers with what `render` makes of the result.
template <typename Result, typename Render>
JobLogs::Take<Result> Answering(const Api::Respond& respond, const core::ObservedJob& job,
                                Render render) {
  return [respond, job_id = job.view.job.job_id, render](const absl::StatusOr<Result>& result) {
    if (!result.ok()) return respond(LogProblem(result.status(), job_id));
    respond(JsonResponse(Dump(render(*result))));
  };
}

/// Reads a cursor of MergedJson(): "1700000000000-2", and with a task "1700000000000-2-worker-1".
bool ReadCursor(const std::string& text, MergeWish& wish) {
  if (text.empty()) return true;
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('-', 2));
  MergeCursor cursor;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[0], &cursor.place.millis) ||
      !absl::SimpleAtoi(parts[1], &cursor.place.skip) || cursor.place < logs::MergePlace{} ||
      cursor.place.millis > kLargestNumber || cursor.place.skip < 0) {
    return false;
  }
  if (parts.size() == 3) {
    if (!core::TaskFromPath(parts[2])) return false;
    cursor.task = parts[2];
  }
  wish.cursor = std::move(cursor);
  return true;
}

}  // namespace

// The task and the attempt become part of a file's path elsewhere. So only a task of the job is
// accepted, in exactly its canonical spelling.
std::optional<LogName> Api::FindLog(const Call& call) const {
  const std::string& place = call.parts[1];
  LogName name;
  name.stream = call.parts[3];
  if (!absl::SimpleAtoi(call.parts[2], &name.attempt) ||
      absl::StrCat(name.attempt) != call.parts[2]) {
    return std::nullopt;
  }
  if (name.stream == "am") {
    if (place != "am" || name.attempt != 0) return std::nullopt;
    return name;
  }
  for (const core::JobView::Task& task : call.job.view.tasks) {
    if (task.last.task.ToPath() != place) continue;
    name.task = task.last.task;
    const bool of_program = name.stream == "stdout" || name.stream == "stderr";
    const bool known = of_program ? name.attempt >= 1 && name.attempt <= task.last.attempt
                                  : name.stream == "executor" && name.attempt == 0;
    if (known) return name;
  }
  return std::nullopt;
}

void Api::ShowLog(const Call& call) {
  const bool raw = call.parts.size() == 5 && call.parts[4] == "raw";
  if (call.parts.size() != 4 && !raw) {
    return call.respond(ProblemResponse(
        404, "A log is named by task, attempt and stream: logs/worker-0/1/stdout."));
  }
  Parameters parameters(call.request.query);
  logs::LogSearch search;
  search.offset = parameters.Number("offset", -kLargestNumber, kLargestNumber, 0);
  search.limit = static_cast<size_t>(parameters.Number("limit", 1, 1 << 20, 64 << 10));
  search.pattern = parameters.Text("match", kMostPattern);
  search.context = static_cast<size_t>(parameters.Number("context", 0, 100, 0));
  search.hits = static_cast<size_t>(parameters.Number("hits", 1, 1000, 100));
  // Choice() has let no other name pass.
  search.level = logs::WantedLevel(LevelIn(parameters)).value_or(std::nullopt);
  if (!raw && parameters.problem()) {
    return call.respond(ProblemResponse(400, *parameters.problem()));
  }
  const std::optional<LogName> name = FindLog(call);
  if (!name) return call.respond(ProblemResponse(404, "The job has no such log."));
  if (RefuseLogs(call)) return;
  if (raw) {
    const std::string file =
        absl::StrCat(call.parts[1], "-", call.parts[2], "-", name->stream, ".log");
    return parts_.logs->OpenRaw(*name, call.request.abandoned,
                                [respond = call.respond, job_id = call.job.view.job.job_id,
                                 file](const absl::StatusOr<RawLog>& log) {
                                  if (!log.ok()) return respond(LogProblem(log.status(), job_id));
                                  HttpResponse response;
                                  response.content_type = "application/octet-stream";
                                  response.headers.emplace_back(
                                      "Content-Disposition",
                                      absl::StrCat("attachment; filename=\"", file, "\""));
                                  response.source = log->source;
                                  response.source_bytes = log->bytes;
                                  respond(std::move(response));
                                });
  }
  search.levels = name->stream == "am" || name->stream == "executor";
  const bool searching = !search.pattern.empty() || search.level;
  const auto take = Answering<logs::LogBlock>(
      call.respond, call.job,
      [searching](const auto& block) { return BlockJson(block, searching); });
  if (searching) return parts_.logs->Search(*name, search, call.request.abandoned, take);
  parts_.logs->ReadBlock(*name, search.offset, search.limit, call.request.abandoned, take);
}

void Api::MergeLogs(const Call& call) {
  Parameters parameters(call.request.query);
  MergeWish wish;
  wish.task = parameters.Word("task", 138, "_.-");
  const std::vector<std::string> streams =
      parameters.Choices("streams", {"stdout", "stderr", "executor"}, {"stdout", "stderr"});
  const auto has = [&](const char* name) {
    return std::find(streams.begin(), streams.end(), name) != streams.end();
  };
  wish.standard_output = has("stdout");
  wish.standard_error = has("stderr");
  wish.executor = has("executor");
  wish.since_millis = parameters.Number("since", 0, kLargestNumber, -1);
  wish.match = parameters.Text("match", kMostPattern);
  wish.level = LevelIn(parameters);
  wish.limit = static_cast<size_t>(parameters.Number("limit", 1, 5000, 500));
  const std::string cursor = parameters.Word("cursor", 512, "_.-");
  if (parameters.problem()) return call.respond(ProblemResponse(400, *parameters.problem()));
  if (!ReadCursor(cursor, wish)) {
    return call.respond(
        ProblemResponse(400, "The parameter cursor is not the `next` of an answer."));
  }
  if (RefuseLogs(call)) return;
  parts_.logs->Merge(call.job.view, wish, call.request.abandoned,
                     Answering<MergedLines>(call.respond, call.job, &MergedJson));
}

bool Api::RefuseLogs(const Call& call) const {
  const LogsState logs = StateOfLogs();
  if (!logs.here) call.respond(Elsewhere(call.job.view.job.job_id, logs.note));
  return !logs.here;
}

void Api::ShowErrors(const Call& call) {
  if (RefuseLogs(call)) return;
  parts_.logs->FindErrors(call.job.view, call.request.abandoned,
                          Answering<JobErrors>(call.respond, call.job, &ErrorsJson));
}

}  // namespace tony::web
