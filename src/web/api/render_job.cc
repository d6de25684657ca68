// The summary of a job. Its parts are those of `tony status --json` (core/record/job_json.h).
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/record/job_json.h"
#include "web/api/render.h"

namespace tony::web {

using core::OrNull;

HttpResponse JsonResponse(std::string body) {
  HttpResponse response;
  response.content_type = "application/json";
  response.body = std::move(body);
  return response;
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string StopCommand(const core::ObservedJob& job) {
  return absl::StrCat("tony kill ", job.view.job.job_id);
}

Json JobSummary(const core::ObservedJob& job, int64_t now_millis, PageMeans means, bool recorded) {
  const core::JobView& view = job.view;
  Json json = {{"id", view.job.job_id},
               {"name", OrNull(view.job.name)},
               {"user", OrNull(view.job.user)},
               {"framework", OrNull(view.job.framework)},
               {"backend", OrNull(view.job.backend)},
               {"state", job.StateName()},
               {"phase", core::JobStateName(view.state)},
               {"epoch", view.epoch},
               {"attempt", view.epoch + 1},
               {"incarnation", view.incarnation},
               {"submitted_millis", OrNull(view.submitted_millis)},
               {"state_since_millis", OrNull(view.state_since_millis)},
               {"ended_millis", OrNull(view.ended_millis)},
               {"now_millis", now_millis},
               {"verdict", view.verdict ? core::VerdictJson(*view.verdict) : Json()},
               {"waiting", core::WaitingJson(view)},
               {"visualization", view.visualization ? Json(view.visualization->url) : Json()},
               {"log_folder", OrNull(view.job.log_folder)},
               {"master_log_url", OrNull(view.job.master_log_url)},
               {"notes", view.notes}};
  json["attempts"] = Json::array();
  for (const auto& attempt : view.attempts) json["attempts"].push_back(core::AttemptJson(attempt));
  json["types"] = Json::array();
  for (const core::JobSubmitted::Type& type : view.job.types) {
    json["types"].push_back(
        {{"name", type.name}, {"instances", type.instances}, {"tracked", type.tracked}});
  }
  std::map<std::string, int> counts;
  for (const auto& task : view.tasks) ++counts[core::TaskStateName(task.last.state)];
  json["counts"] = counts;
  json["sequence"] = view.last_sequence;
  json["recorded"] = recorded;
  const bool may_post = means.post && !view.verdict;
  json["may"] = {{"stop", means.stop && !view.verdict},
                 {"stop_command", StopCommand(job)},
                 {"stacks", may_post}};
  // Whoever may change the job is at its own page, which leads to the job's program, too.
  json["may"]["open"] = may_post && view.visualization.has_value();
  json["may"]["open_command"] = absl::StrCat("tony open ", view.job.job_id, " --tensorboard");
  json["may"]["logs"] = means.logs;
  json["may"]["logs_note"] = means.logs_note.empty() ? Json(nullptr) : Json(means.logs_note);
  json["may"]["logs_command"] = absl::StrCat("tony logs ", view.job.job_id);
  return json;
}

}  // namespace tony::web
