// Names are those of the job's own API (web/api/render.h) where both have a thing.
#include "portal/site/list_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/record/json_values.h"
#include "core/tasks/job_state.h"
#include "portal/index/job_place.h"

namespace tony::portal {
namespace {

using core::OrNull;

constexpr int64_t kMostJobs = 500;

std::vector<std::string> StateNames() {
  return {"NEW",   "ALLOCATING", "REGISTERING", "RUNNING", "RESTARTING", "STOPPING",
          "ENDED", "SUCCEEDED",  "FAILED",      "KILLED",  "LOST",       "UNREADABLE"};
}

Json JobJson(const IndexedJob& job, const std::vector<std::string>& locations) {
  const history::JobEntry& entry = job.entry;
  Json json = {{"id", entry.job_id},
               {"address", JobAddress(locations, job.location, entry.job_id)},
               {"name", OrNull(entry.name)},
               {"user", OrNull(entry.user)},
               {"queue", OrNull(entry.queue)},
               {"framework", OrNull(entry.framework)},
               {"backend", OrNull(entry.backend)},
               {"tags", Json::array()},
               {"state", entry.state},
               {"alive", job.alive},
               {"reason", OrNull(entry.reason)},
               {"sentence", OrNull(entry.sentence)},
               {"guilty", OrNull(entry.guilty)},
               {"exit_code", entry.exit_code < 0 ? Json() : Json(entry.exit_code)},
               {"submitted_millis", OrNull(entry.submitted_millis)},
               {"started_millis", OrNull(entry.started_millis)},
               {"ended_millis", OrNull(entry.ended_millis)},
               {"duration_millis", job.duration_millis < 0 ? Json() : Json(job.duration_millis)},
               {"tasks", entry.tasks},
               {"gpus", entry.gpus},
               {"memory_mb", entry.memory_mb},
               {"attempts", entry.epochs},
               {"advice", entry.advice},
               {"trouble", OrNull(job.trouble)},
               {"location", job.location}};
  for (const absl::string_view tag : absl::StrSplit(entry.tags, ',', absl::SkipEmpty())) {
    json["tags"].push_back(std::string(tag));
  }
  return json;
}

Json ValuesJson(const JobCounts::Values& values) {
  Json json = Json::array();
  for (const auto& [value, jobs] : values) {
    if (!value.empty()) json.push_back({{"value", value}, {"jobs", jobs}});
  }
  return json;
}

}  // namespace

std::string JobAddress(const std::vector<std::string>& locations, const std::string& location,
                       const std::string& job_id) {
  const auto found = std::find(locations.begin(), locations.end(), location);
  if (found == locations.begin() || found == locations.end()) return job_id;
  return absl::StrCat(job_id, "@", found - locations.begin() + 1);
}

absl::StatusOr<JobKey> JobOfAddress(const std::vector<std::string>& locations,
                                    const std::string& address) {
  const size_t at = address.find('@');
  size_t number = 1;
  const bool numbered = at != std::string::npos;
  const bool right =
      !numbered || (absl::SimpleAtoi(address.substr(at + 1), &number) && number >= 2 &&
                    number <= locations.size() && address.substr(at + 1) == absl::StrCat(number));
  std::string job_id = address.substr(0, at);
  if (!right || locations.empty() || !IsJobName(job_id)) {
    return absl::NotFoundError("no job can have that name");
  }
  return JobKey{locations[number - 1], std::move(job_id)};
}

JobWish ReadWish(web::Parameters& parameters) {
  JobWish wish;
  wish.states = parameters.Choices("state", StateNames(), {});
  wish.user = parameters.Text("user", 256);
  wish.queue = parameters.Text("queue", 256);
  wish.framework = parameters.Text("framework", 64);
  wish.name = parameters.Text("name", 512);
  wish.text = parameters.Text("q", 256);
  const std::string alive = parameters.Choice("alive", {"yes", "no"}, "");
  if (!alive.empty()) wish.alive = alive == "yes";
  wish.since_millis = parameters.Number("since", 0, web::kLargestNumber, 0);
  wish.until_millis = parameters.Number("until", 0, web::kLargestNumber, 0);
  std::vector<std::string> orders = SortNames();
  for (const std::string& name : SortNames()) orders.push_back("-" + name);
  wish.sort = parameters.Choice("sort", orders, "-submitted");
  wish.limit = static_cast<size_t>(parameters.Number("limit", 1, kMostJobs, 50));
  wish.cursor = parameters.Word("cursor", 4096, "_-");
  return wish;
}

Json JobPageJson(const JobPage& page, const std::vector<std::string>& locations,
                 const IndexProgress& progress, int64_t now_millis) {
  Json json = {{"jobs", Json::array()}, {"next", OrNull(page.next)}, {"now_millis", now_millis}};
  for (const IndexedJob& job : page.jobs) json["jobs"].push_back(JobJson(job, locations));
  json["index"] = {{"complete", progress.complete},
                   {"done", progress.done},
                   {"total", progress.total},
                   {"trouble", OrNull(progress.trouble)}};
  return json;
}

// All targets have one address, by which Prometheus would name the instance of each.
Json TargetsJson(const JobPage& page, const std::vector<std::string>& locations,
                 const std::string& host, absl::string_view base) {
  Json json = Json::array();
  for (const IndexedJob& job : page.jobs) {
    const std::string address = JobAddress(locations, job.location, job.entry.job_id);
    json.push_back(
        {{"targets", Json::array({host})},
         {"labels",
          {{"__metrics_path__", absl::StrCat(base, "/", address)}, {"instance", address}}}});
  }
  return json;
}

Json CountsJson(const JobCounts& counts) {
  return {{"jobs", counts.jobs},
          {"alive", counts.alive},
          {"states", ValuesJson(counts.states)},
          {"users", ValuesJson(counts.users)},
          {"queues", ValuesJson(counts.queues)},
          {"frameworks", ValuesJson(counts.frameworks)}};
}

Json SessionJson(const Visitor& visitor) {
  return {{"user", visitor.name}, {"role", RoleName(visitor.role)}, {"login", visitor.login}};
}

}  // namespace tony::portal
