// `tony list`: every job of this machine, or of a cluster, one line each, cut to the screen.
#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"
#include "client/jobs/job_json.h"
#include "client/verbs/verbs.h"
#include "common/status_macros.h"
#include "core/record/duration_text.h"

namespace tony::client {
namespace {

std::string LocalTime(int64_t unix_millis) {
  const std::time_t seconds = unix_millis / 1000;
  std::tm parts{};
  char text[32] = "";
  localtime_r(&seconds, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

std::string RenderList(const std::vector<StoredJob>& jobs, const VerbContext& context) {
  if (jobs.empty()) return "There are no jobs.\n";
  int id_width = 3, name_width = 4;
  for (const StoredJob& job : jobs) {
    id_width = std::max(id_width, DisplayWidth(SafeText(job.id)));
    name_width = std::max(name_width, DisplayWidth(SafeText(job.job.view.job.name)));
  }
  const auto row = [&](const std::string& id, const std::string& state, const std::string& name,
                       const std::string& submitted, const std::string& time) {
    return CutToWidth(absl::StrCat(PadToWidth(id, id_width), "  ", PadToWidth(state, 11), "  ",
                                   PadToWidth(name, name_width), "  ", PadToWidth(submitted, 19),
                                   "  ", time),
                      context.screen.width) +
           "\n";
  };
  std::string text = row("JOB", "STATE", "NAME", "SUBMITTED", "TIME");
  for (const StoredJob& job : jobs) {
    text += row(SafeText(job.id), job.job.StateName(), SafeText(job.job.view.job.name),
                LocalTime(job.submitted_millis),
                core::FormatDuration(job.job.RunningMillis(context.clock->UnixMillis())));
  }
  return text;
}

absl::StatusOr<int> RunList(const CommandLine& line, const VerbContext& context) {
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<JobCatalog> catalog, OpenJobs(line, context, ""));
  TONY_ASSIGN_OR_RETURN(const std::vector<StoredJob> jobs, catalog->List());
  if (!line.Has("json")) {
    context.out(RenderList(jobs, context));
    return kVerbDone;
  }
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const StoredJob& job : jobs) json.push_back(JobToJson(job, false));
  context.bytes(DumpJson(json));
  return kVerbDone;
}

}  // namespace

Verb ListVerb() { return {"list", "", "all jobs, newest first", "", {}, 0, &RunList}; }

}  // namespace tony::client
