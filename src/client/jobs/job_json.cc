// An unknown value is null instead of a missing key, so that programs need not test for keys. The
// verdict carries the exit code of tony-submit.
#include "client/jobs/job_json.h"

#include <nlohmann/json.hpp>

#include "client/cli/messages.h"
#include "client/jobs/usage_json.h"
#include "common/safe_text.h"

namespace tony::client {
namespace {

using Json = nlohmann::ordered_json;

// 0 and "" stand for unknown values in the job's state.
Json OrNull(int64_t number) { return number == 0 ? Json() : Json(number); }
Json OrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json ExitToJson(const core::TaskExit& exit) {
  Json json;
  json["description"] = exit.Describe();
  json["code"] = exit.cause == core::TaskExit::Cause::kExited ? Json(exit.code) : Json();
  json["signal"] = exit.cause == core::TaskExit::Cause::kSignaled ? Json(exit.signal) : Json();
  json["tail"] = exit.tail;
  json["reported"] = exit.reported;
  return json;
}

Json VerdictToJson(const core::Verdict& verdict) {
  Json json;
  json["outcome"] = core::OutcomeName(verdict.outcome);
  json["reason"] = core::ReasonName(verdict.reason);
  json["sentence"] = verdict.sentence;
  json["guilty"] = verdict.guilty ? Json(verdict.guilty->ToString()) : Json();
  json["exit"] = verdict.exit ? ExitToJson(*verdict.exit) : Json();
  json["exit_code"] = core::ExitCode(verdict);
  return json;
}

// A number that is unknown is -1 in the job's state.
Json KnownOrNull(double number) { return number < 0 ? Json() : Json(number); }

Json ProgressToJson(const core::Progress& progress) {
  Json json;
  json["step"] = progress.step < 0 ? Json() : Json(progress.step);
  json["steps_per_second"] = KnownOrNull(progress.steps_per_second);
  json["step_seconds"] = KnownOrNull(progress.step_seconds);
  json["long_gap_seconds"] = KnownOrNull(progress.long_gap_seconds);
  json["first_step_millis"] = OrNull(progress.first_step_millis);
  json["idle_seconds"] = KnownOrNull(progress.idle_seconds);
  json["phase"] = OrNull(progress.phase);
  json["phase_seconds"] = KnownOrNull(progress.phase_seconds);
  json["longest_phase_seconds"] = KnownOrNull(progress.longest_phase_seconds);
  json["values"] = progress.values;
  json["checkpoint"] = Json();
  if (const auto& checkpoint = progress.checkpoint) {
    json["checkpoint"] = {{"path", checkpoint->path},
                          {"millis", checkpoint->millis},
                          {"seconds", KnownOrNull(checkpoint->seconds)},
                          {"count", checkpoint->count}};
  }
  json["unread_lines"] = progress.unread_lines;
  return json;
}

Json TaskToJson(const core::JobView::Task& task, const core::ObservedJob& job) {
  const core::TaskChanged& last = task.last;
  Json json;
  json["task"] = last.task.ToString();
  json["state"] = core::TaskStateName(last.state);
  json["attempt"] = last.attempt;
  json["container"] = OrNull(last.container);
  json["containment"] = OrNull(last.containment);
  json["log_url"] = OrNull(last.log_url);
  json["host"] = OrNull(last.host);
  json["port"] = OrNull(last.port);
  json["pid"] = OrNull(last.pid);
  const auto times = job.times.find(last.task);
  json["started_millis"] = times == job.times.end() ? Json() : OrNull(times->second.started_millis);
  json["ended_millis"] = times == job.times.end() ? Json() : OrNull(times->second.ended_millis);
  json["sentence"] = OrNull(last.sentence);
  json["exit"] = last.exit ? ExitToJson(*last.exit) : Json();
  if (task.usage) {
    json["usage"] = {{"cpu_seconds", task.usage->cpu_seconds},
                     {"memory_bytes", task.usage->memory_bytes},
                     {"max_memory_bytes", task.usage->max_memory_bytes},
                     {"read_bytes", task.usage->read_bytes},
                     {"write_bytes", task.usage->write_bytes},
                     {"processes", task.usage->processes}};
    AddKnownUsage(*task.usage, json["usage"]);
    if (const auto& progress = task.usage->progress) {
      json["usage"]["progress"] = ProgressToJson(*progress);
    }
    if (const auto& collective = task.usage->collective) {
      json["usage"]["collective"] = {{"tensors", collective->tensors},
                                     {"bytes", collective->bytes},
                                     {"operations", collective->operations},
                                     {"by_number", collective->by_number},
                                     {"by_request", collective->by_request},
                                     {"negotiation_seconds", collective->negotiation_seconds},
                                     {"operation_seconds", collective->operation_seconds},
                                     {"waited_for_seconds", collective->waited_for_seconds}};
    }
  }
  return json;
}

Json AttemptToJson(const core::JobView::Attempt& attempt) {
  return {{"attempt", attempt.number},
          {"began_millis", OrNull(attempt.began_millis)},
          {"ended_millis", attempt.ended_millis},
          {"cause", attempt.cause},
          {"guilty", attempt.guilty ? Json(attempt.guilty->ToString()) : Json()},
          {"error", OrNull(attempt.error)}};
}

Json WaitingToJson(const core::JobView& view) {
  if (!view.waiting) return Json();
  return {{"what", view.waiting->what},
          {"since_millis", view.waiting_since_millis},
          {"missing", view.waiting->missing},
          {"unblock", view.waiting->unblock}};
}

}  // namespace

Json EndToJson(const std::string& job_id, const absl::StatusOr<core::Verdict>& verdict) {
  Json json;
  json["version"] = kJsonVersion;
  json["job_id"] = job_id;
  json["verdict"] = verdict.ok() ? VerdictToJson(*verdict) : Json();
  json["sentence"] = verdict.ok() ? Json() : Json(std::string(verdict.status().message()));
  json["exit_code"] = verdict.ok() ? core::ExitCode(*verdict) : ExitOf(verdict.status());
  return json;
}

Json ProblemsToJson(const std::vector<jobfile::Problem>& problems) {
  Json json = Json::array();
  for (const jobfile::Problem& problem : problems) {
    json.push_back({{"file", problem.file},
                    {"line", problem.line},
                    {"key", problem.key},
                    {"message", problem.message},
                    {"remedy", problem.remedy}});
  }
  return json;
}

Json RefusalToJson(const std::vector<jobfile::Problem>& problems, int exit_code) {
  Json json;
  json["version"] = kJsonVersion;
  json["job_id"] = nullptr;
  json["problems"] = ProblemsToJson(problems);
  json["exit_code"] = exit_code;
  return json;
}

Json JobToJson(const StoredJob& stored, bool details) {
  const core::JobView& view = stored.job.view;
  Json json;
  json["version"] = kJsonVersion;
  json["id"] = stored.id;
  json["name"] = OrNull(view.job.name);
  json["user"] = OrNull(view.job.user);
  json["framework"] = OrNull(view.job.framework);
  json["backend"] = OrNull(view.job.backend);
  json["state"] = stored.job.StateName();
  json["alive"] = stored.alive;
  json["epoch"] = view.epoch;  // what the programs find in TONY_EPOCH
  json["attempt"] = view.epoch + 1;
  json["submitted_millis"] = OrNull(stored.submitted_millis);
  json["ended_millis"] = OrNull(view.ended_millis);
  json["sentence"] = OrNull(stored.sentence);
  json["verdict"] = view.verdict ? VerdictToJson(*view.verdict) : Json();
  if (!details) return json;
  json["waiting"] = WaitingToJson(view);
  json["visualization"] = view.visualization ? Json(view.visualization->url) : Json();
  json["log_folder"] = OrNull(view.job.log_folder);
  json["notes"] = view.notes;
  json["attempts"] = Json::array();
  for (const core::JobView::Attempt& attempt : view.attempts)
    json["attempts"].push_back(AttemptToJson(attempt));
  json["tasks"] = Json::array();
  for (const core::JobView::Task& task : view.tasks)
    json["tasks"].push_back(TaskToJson(task, stored.job));
  return json;
}

// A program's output may not be UTF-8: such bytes are replaced, because dump() would throw.
std::string DumpJson(const Json& json) {
  return SafeJson(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::string DumpJsonLine(const Json& json) {
  return SafeJson(json.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace tony::client
