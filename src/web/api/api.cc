// Routes, the job itself, its tasks, events, configuration and stacks, and the one change: its end.
#include "web/api/api.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/record/job_json.h"
#include "web/api/render.h"

namespace tony::web {
namespace {

constexpr char kJobs[] = "api/v1/jobs";
constexpr char kStop[] = "stop";
constexpr char kStacks[] = "stacks";
constexpr size_t kMostReason = 500;

std::vector<std::string> StateNames() {
  return {"NEW", "STARTING", "READY", "RUNNING", "SUCCEEDED", "FAILED", "STOPPED"};
}

/// Whether the body says that it is JSON: the access has checked that the request comes from the
/// page itself, and this keeps forms of other pages out even where a browser sends no Origin.
bool IsJson(const HttpRequest& request) {
  const std::string type = request.content_type.substr(0, request.content_type.find(';'));
  return absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(type), "application/json");
}

HttpResponse NoJson() {
  return ProblemResponse(415, "The body must be of the type application/json.");
}

/// `json`; with a `tag`, which may be empty, 304 for those who know it.
HttpResponse Tagged(const std::string& json, const std::string& tag, const std::string& known) {
  HttpResponse response = JsonResponse(json);
  if (tag.empty()) return response;
  response.headers.emplace_back("ETag", tag);
  if (known == tag) {
    response.status = 304;
    response.body.clear();
  }
  return response;
}

std::string EventsJson(const EventPage& page, int64_t sequence) {
  return absl::StrCat("{\"events\":[", absl::StrJoin(page.events, ","),
                      "],\"next\":", page.next ? absl::StrCat(*page.next) : "null",
                      ",\"sequence\":", sequence, "}\n");
}

/// The sentence of a request to end the job by the visitor `name`, who may be nameless;
/// InvalidArgument – its body is not as it should be.
absl::StatusOr<std::string> StopReason(const HttpRequest& request, const std::string& name) {
  const Json body = Json::parse(request.body, nullptr, false);
  if (!body.is_object()) {
    return absl::InvalidArgumentError("The body must be a JSON object: {\"reason\": \"…\"}.");
  }
  std::string reason;
  for (const auto& [name, value] : body.items()) {
    if (name != "reason" || !value.is_string()) {
      return absl::InvalidArgumentError(
          "The body may have one key, \"reason\", whose value is a text.");
    }
    reason = value.get<std::string>();
  }
  if (reason.size() > kMostReason) {
    return absl::InvalidArgumentError(
        absl::StrCat("The reason has more than ", kMostReason, " bytes."));
  }
  const std::string by = name.empty() ? "" : absl::StrCat(" by ", name, " in the portal");
  return absl::StrCat("The job's page was told to stop it", by, reason.empty() ? "" : ": ", reason);
}

}  // namespace

bool Api::Owns(const std::string& place) {
  return place == "healthz" || place == "metrics" || place == "api" ||
         absl::StartsWith(place, "api/");
}

std::string Api::Allowed(const std::string& place) {
  const std::vector<std::string> parts = absl::StrSplit(place, '/');
  if (parts.size() != 5 || !absl::StartsWith(place, absl::StrCat(kJobs, "/"))) return "GET, HEAD";
  if (parts[4] == kStop) return "POST";
  return parts[4] == kStacks ? "GET, HEAD, POST" : "GET, HEAD";
}

// `post` is about the job's own page, where stacks are taken and its program is reached; a recorded
// job can be ended from elsewhere.
PageMeans Api::MeansOf(const Sender& sender) const {
  const bool may = parts_.direct && sender.may_change;
  LogsState logs = StateOfLogs();
  return {.post = may && !parts_.job.recorded(),
          .stop = may && parts_.job.can_stop(),
          .logs = logs.here,
          .logs_note = std::move(logs.note)};
}

LogsState Api::StateOfLogs() const {
  if (parts_.logs == nullptr) return {.here = false, .note = ""};
  return parts_.logs_state == nullptr ? LogsState{} : parts_.logs_state();
}

Json Api::Summary(const Sender& sender) const {
  return JobSummary(parts_.job.Job(), parts_.job.UnixMillis(), MeansOf(sender),
                    parts_.job.recorded());
}

void Api::Handle(const HttpRequest& request, const std::string& place, const Sender& sender,
                 const Respond& respond) {
  if (request.post) {
    if (auto refused = sender.refuse_change()) return respond(*std::move(refused));
  }
  if (place == "healthz") return respond(JsonResponse("{\"status\":\"ok\"}\n"));
  if (place == "api/v1/openapi.json") return respond(JsonResponse(OpenApiDocument()));
  const core::ObservedJob& job = parts_.job.Job();
  if (job.view.last_sequence == 0) {
    return respond(ProblemResponse(503, "What has happened in this job so far is being read."));
  }
  if (place == "metrics") {
    HttpResponse response;
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.body = PrometheusText(job, parts_.job.metrics());
    return respond(std::move(response));
  }
  if (place == kJobs) {
    return respond(
        JsonResponse(Dump({{"jobs", Json::array({Summary(sender)})}, {"next", nullptr}})));
  }
  const std::string start = absl::StrCat(kJobs, "/");
  if (!absl::StartsWith(place, start)) {
    return respond(ProblemResponse(404,
                                   "The API has no such resource; api/v1/openapi.json lists "
                                   "those it has."));
  }
  HandleJob(request, place.substr(start.size()), sender, respond);
}

void Api::HandleJob(const HttpRequest& request, const std::string& place, const Sender& sender,
                    const Respond& respond) {
  std::vector<std::string> parts = absl::StrSplit(place, '/');
  const core::ObservedJob& job = parts_.job.Job();
  const std::string& id = job.view.job.job_id;
  if (parts[0] != id) {
    return respond(ProblemResponse(
        404, absl::StrCat("This ApplicationMaster runs no job of that name; it runs ", id, ".")));
  }
  parts.erase(parts.begin());
  const std::string what = parts.empty() ? "" : parts[0];
  const Call call{request, parts, job, sender, respond};
  // What the sender may do is a part of the summary, and so of its tag.
  if (parts.empty()) {
    const PageMeans means = MeansOf(sender);
    return Answer(call, Dump(Summary(sender)),
                  Tag(absl::StrCat(means.stop ? "-stop" : "", means.logs ? "-logs-" : "-",
                                   std::hash<std::string>{}(means.logs_note))));
  }
  if (what == "logs" && parts.size() > 1) return ShowLog(call);
  if (what == "tasks" && parts.size() == 2) return ShowTask(call);
  if (what == "config" && parts.size() == 2 && parts[1] == "previous") return ShowPrevious(call);
  if (parts.size() == 1) {
    if (what == "tasks") return ShowTasks(call);
    if (what == "events") return ShowEvents(call);
    if (what == "timeline") {
      const core::JobTimeline& timeline = parts_.job.timeline();
      const auto& steps = timeline.first_steps;
      const std::string newest =
          steps.empty() ? "" : absl::StrCat("-", steps.size(), "-", steps.back().millis);
      return Answer(call, Dump(TimelineJson(timeline, parts_.job.UnixMillis())), Tag(newest));
    }
    if (what == "logs") return MergeLogs(call);
    if (what == "errors") return ShowErrors(call);
    if (what == "config") return ShowConfig(call);
    if (what == "metrics") return ShowMetrics(call);
    if (what == "advice") return ShowAdvice(call);
    if (what == kStacks) return ShowStacks(call);
    if (what == kStop) return Stop(call);
  }
  respond(
      ProblemResponse(404, absl::StrCat("A job has no ", absl::StrJoin(parts, "/").substr(0, 200),
                                        " in this version; api/v1/openapi.json lists what it "
                                        "has.")));
}

// Measurements change a task without a new event, and tell of its first step, so their version is
// part of such a tag.
std::string Api::Tag(const std::string& more) const {
  return absl::StrCat("\"seq-", parts_.job.timeline().last_sequence, more, "\"");
}

void Api::Answer(const Call& call, const std::string& json, const std::string& tag) const {
  call.respond(Tagged(json, parts_.direct ? tag : "", call.request.if_none_match));
}

void Api::ShowTasks(const Call& call) {
  Parameters parameters(call.request.query);
  TaskWish wish;
  for (const std::string& name : parameters.Choices("state", StateNames(), {})) {
    if (const auto state = core::ParseTaskState(name)) wish.states.push_back(*state);
  }
  wish.host = parameters.Word("host", 253, "._:-");
  wish.sort = parameters.Choice("sort", {"task", "trouble", "host", "memory", "cpu"}, "task");
  wish.limit = static_cast<size_t>(parameters.Number("limit", 1, 10'000, 1000));
  wish.cursor = parameters.Word("cursor", 512, "_-");
  if (parameters.problem()) return call.respond(ProblemResponse(400, *parameters.problem()));
  const absl::StatusOr<Json> page = TaskPage(call.job, wish);
  if (!page.ok()) {
    return call.respond(ProblemResponse(400, std::string(page.status().message())));
  }
  Answer(call, Dump(*page), Tag(absl::StrCat("-", parts_.job.changes().version)));
}

void Api::ShowTask(const Call& call) {
  for (const core::JobView::Task& task : call.job.view.tasks) {
    const core::TaskId& id = task.last.task;
    if (id.ToPath() != call.parts[1]) continue;
    Json json = {{"task", id.ToString()}, {"path", id.ToPath()}};
    json.update(core::TaskJson(task, call.job));
    return Answer(call, Dump(json), Tag(absl::StrCat("-", parts_.job.changes().version)));
  }
  call.respond(ProblemResponse(404, "The job has no such task; a task is written as in worker-0."));
}

void Api::ShowEvents(const Call& call) {
  Parameters parameters(call.request.query);
  const int64_t after = parameters.Number("after", 0, kLargestNumber, 0);
  const int64_t limit = parameters.Number("limit", 1, 5000, 1000);
  if (parameters.problem()) return call.respond(ProblemResponse(400, *parameters.problem()));
  if (parts_.direct && absl::StrContains(call.request.accept, "text/event-stream")) {
    HttpResponse response;
    response.content_type = "text/event-stream";
    response.source = broadcast_.Open(after, MeansOf(call.sender));
    return call.respond(std::move(response));
  }
  // The answer may outlive this object, so it holds nothing of it.
  parts_.job.ReadEvents(
      after, static_cast<size_t>(limit),
      [respond = call.respond, sequence = call.job.view.last_sequence,
       tag = parts_.direct ? Tag() : "",
       known = call.request.if_none_match](const absl::StatusOr<EventPage>& page) {
        if (!page.ok()) return respond(ProblemResponse(429, std::string(page.status().message())));
        respond(Tagged(EventsJson(*page, sequence), tag, known));
      });
}

void Api::ShowConfig(const Call& call) {
  Parameters parameters(call.request.query);
  const bool differing = !parameters.Choice("against", {"defaults"}, "").empty();
  if (parameters.problem()) return call.respond(ProblemResponse(400, *parameters.problem()));
  call.respond(JsonResponse(Dump(ConfigJson(parts_.job.config(), differing))));
}

// The answer may outlive this object, so it holds nothing of it.
void Api::ShowPrevious(const Call& call) {
  parts_.job.FindPrevious([respond = call.respond, config = parts_.job.config()](
                              const absl::StatusOr<std::optional<PreviousRun>>& previous) {
    if (!previous.ok()) {
      return respond(ProblemResponse(429, std::string(previous.status().message())));
    }
    respond(JsonResponse(Dump(PreviousJson(config, *previous))));
  });
}

void Api::ShowStacks(const Call& call) {
  JobStacks* const stacks = parts_.stacks;
  if (!parts_.direct) {
    const std::string command = absl::StrCat("tony stacks ", call.job.view.job.job_id);
    return call.respond(ProblemResponse(
        503, absl::StrCat("Stacks are not shown through a proxy; ", command, " shows them."),
        command));
  }
  if (call.request.post) return TakeStacks(call);
  if (parts_.kept_stacks == nullptr) {
    return call.respond(JsonResponse(Dump(StacksJson(stacks ? stacks->last() : nullptr, {}))));
  }
  parts_.kept_stacks->Read(
      call.job.view, call.request.abandoned,
      [respond = call.respond, stacks](const absl::StatusOr<KeptStacksPage>& kept) {
        if (!kept.ok()) return respond(ProblemResponse(429, std::string(kept.status().message())));
        respond(JsonResponse(Dump(StacksJson(stacks ? stacks->last() : nullptr, *kept))));
      });
}

// The answer may outlive this object, so it holds nothing of it.
void Api::TakeStacks(const Call& call) {
  if (!IsJson(call.request)) return call.respond(NoJson());
  const Json body = Json::parse(call.request.body, nullptr, false);
  if (!body.is_object() || !body.empty()) {
    return call.respond(ProblemResponse(400, "The body must be an empty JSON object: {}."));
  }
  if (call.job.view.verdict || (parts_.stacks == nullptr && !parts_.job.recorded())) {
    return call.respond(ProblemResponse(409, "No program of the job runs any more."));
  }
  if (parts_.stacks == nullptr) {
    const std::string command = absl::StrCat("tony stacks ", call.job.view.job.job_id);
    return call.respond(ProblemResponse(
        409, absl::StrCat("Stacks are not taken from here. In a terminal: ", command), command));
  }
  parts_.stacks->TakeAll([respond = call.respond](const absl::StatusOr<core::StackReport>& report) {
    if (report.ok()) return respond(JsonResponse(Dump(StacksJson(&*report, {}))));
    respond(ProblemResponse(503, std::string(report.status().message())));
  });
}

// The answer may outlive this object, so it holds nothing of it.
void Api::Stop(const Call& call) {
  if (!IsJson(call.request)) return call.respond(NoJson());
  const absl::StatusOr<std::string> reason = StopReason(call.request, call.sender.name);
  if (!reason.ok()) {
    return call.respond(ProblemResponse(400, std::string(reason.status().message())));
  }
  if (call.job.view.verdict) {
    return call.respond(ProblemResponse(
        409, absl::StrCat("The job has its verdict already: ", call.job.view.verdict->sentence)));
  }
  const std::string command = StopCommand(call.job);
  if (!parts_.job.can_stop()) {
    return call.respond(ProblemResponse(
        409, absl::StrCat("The job cannot be reached from here. In a terminal: ", command),
        command));
  }
  const Json done = {{"state", call.job.StateName()}, {"sentence", *reason}};
  parts_.job.Stop(*reason, [respond = call.respond, done, command](const absl::Status& noted) {
    if (!noted.ok()) {
      return respond(ProblemResponse(
          503, absl::StrCat("The job could not be told: ", std::string(noted.message()), "."),
          command));
    }
    HttpResponse response = JsonResponse(Dump(done));
    response.status = 202;
    respond(std::move(response));
  });
}

}  // namespace tony::web
