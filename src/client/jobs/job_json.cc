// An unknown value is null instead of a missing key, so that programs need not test for keys. The
// verdict carries the exit code of tony-submit.
#include "client/jobs/job_json.h"

#include <nlohmann/json.hpp>

#include "client/cli/messages.h"
#include "common/safe_text.h"
#include "core/record/job_json.h"

namespace tony::client {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json EndToJson(const std::string& job_id, const absl::StatusOr<core::Verdict>& verdict) {
  Json json;
  json["version"] = kJsonVersion;
  json["job_id"] = job_id;
  json["verdict"] = verdict.ok() ? core::VerdictJson(*verdict) : Json();
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
  json["name"] = core::OrNull(view.job.name);
  json["user"] = core::OrNull(view.job.user);
  json["framework"] = core::OrNull(view.job.framework);
  json["backend"] = core::OrNull(view.job.backend);
  json["state"] = stored.job.StateName();
  json["alive"] = stored.alive;
  json["epoch"] = view.epoch;  // what the programs find in TONY_EPOCH
  json["attempt"] = view.epoch + 1;
  json["submitted_millis"] = core::OrNull(stored.submitted_millis);
  json["ended_millis"] = core::OrNull(view.ended_millis);
  json["sentence"] = core::OrNull(stored.sentence);
  json["verdict"] = view.verdict ? core::VerdictJson(*view.verdict) : Json();
  if (!details) return json;
  json["waiting"] = core::WaitingJson(view);
  json["visualization"] = view.visualization ? Json(view.visualization->url) : Json();
  json["log_folder"] = core::OrNull(view.job.log_folder);
  json["notes"] = view.notes;
  json["attempts"] = Json::array();
  for (const core::JobView::Attempt& attempt : view.attempts)
    json["attempts"].push_back(core::AttemptJson(attempt));
  json["tasks"] = Json::array();
  for (const core::JobView::Task& task : view.tasks)
    json["tasks"].push_back(core::TaskJson(task, stored.job));
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
