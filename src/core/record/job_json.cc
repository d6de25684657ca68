// An unknown value is null instead of a missing key, so that programs need not test for keys.
#include "core/record/job_json.h"

#include <nlohmann/json.hpp>

#include "core/record/usage_json.h"

namespace tony::core {

using Json = nlohmann::ordered_json;

Json ExitJson(const TaskExit& exit) {
  Json json;
  json["description"] = exit.Describe();
  json["code"] = exit.cause == TaskExit::Cause::kExited ? Json(exit.code) : Json();
  json["signal"] = exit.cause == TaskExit::Cause::kSignaled ? Json(exit.signal) : Json();
  json["tail"] = exit.tail;
  json["reported"] = exit.reported;
  return json;
}

Json VerdictJson(const Verdict& verdict) {
  Json json;
  json["outcome"] = OutcomeName(verdict.outcome);
  json["reason"] = ReasonName(verdict.reason);
  json["sentence"] = verdict.sentence;
  json["guilty"] = verdict.guilty ? Json(verdict.guilty->ToString()) : Json();
  json["exit"] = verdict.exit ? ExitJson(*verdict.exit) : Json();
  json["exit_code"] = ExitCode(verdict);
  return json;
}

Json TaskJson(const JobView::Task& task, const ObservedJob& job) {
  const TaskChanged& last = task.last;
  Json json;
  json["task"] = last.task.ToString();
  json["state"] = TaskStateName(last.state);
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
  json["exit"] = last.exit ? ExitJson(*last.exit) : Json();
  if (task.usage) {
    json["usage"] = {{"cpu_seconds", task.usage->cpu_seconds},
                     {"memory_bytes", task.usage->memory_bytes},
                     {"max_memory_bytes", task.usage->max_memory_bytes},
                     {"read_bytes", task.usage->read_bytes},
                     {"write_bytes", task.usage->write_bytes},
                     {"processes", task.usage->processes}};
    AddKnownUsage(*task.usage, json["usage"]);
    if (const auto& progress = task.usage->progress) {
      json["usage"]["progress"] = ProgressJson(*progress);
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

Json AttemptJson(const JobView::Attempt& attempt) {
  return {{"attempt", attempt.number},
          {"began_millis", OrNull(attempt.began_millis)},
          {"ended_millis", attempt.ended_millis},
          {"cause", attempt.cause},
          {"guilty", attempt.guilty ? Json(attempt.guilty->ToString()) : Json()},
          {"error", OrNull(attempt.error)}};
}

Json WaitingJson(const JobView& view) {
  if (!view.waiting) return Json();
  return {{"what", view.waiting->what},
          {"since_millis", view.waiting_since_millis},
          {"missing", view.waiting->missing},
          {"unblock", view.waiting->unblock}};
}

}  // namespace tony::core
