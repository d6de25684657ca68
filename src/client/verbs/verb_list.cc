// `tony list`: the jobs of this machine, or of a cluster, one line each, cut to the screen.
#include <algorithm>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"
#include "client/jobs/job_json.h"
#include "client/jobs/remove_job.h"
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

/// Which jobs are to be listed, and what of each.
struct Wish {
  bool running = false;
  bool failed = false;
  std::string name;                                  ///< a part of the job's name, in lower case
  size_t most = std::numeric_limits<size_t>::max();  ///< only the newest so many
  bool size = false;
};

absl::StatusOr<Wish> ReadWish(const CommandLine& line) {
  Wish wish;
  wish.running = line.Has("running");
  wish.failed = line.Has("failed");
  wish.name = absl::AsciiStrToLower(line.Value("name"));
  wish.size = line.Has("size");
  if (line.Has("newest") && !absl::SimpleAtoi(line.Value("newest"), &wish.most)) {
    return absl::InvalidArgumentError(
        absl::StrCat("-n '", line.Value("newest"), "' is no number of jobs; write -n 20"));
  }
  return wish;
}

bool IsWished(const StoredJob& job, const Wish& wish) {
  const bool running = job.alive && !job.ended();
  const bool failed =
      job.job.lost || (job.ended() && job.job.view.verdict->outcome == core::Outcome::kFailed);
  const bool any_state = !wish.running && !wish.failed;
  if (!any_state && !(wish.running && running) && !(wish.failed && failed)) return false;
  const std::string name = absl::AsciiStrToLower(job.job.view.job.name);
  return wish.name.empty() || absl::StrContains(name, wish.name);
}

/// Why the job did not end well, in one line; empty for a job that runs or has succeeded.
std::string ReasonOf(const StoredJob& job) {
  if (job.job.lost) return job.sentence;
  if (!job.ended()) return "";
  const core::Verdict& verdict = *job.job.view.verdict;
  if (verdict.outcome == core::Outcome::kSucceeded) return "";
  return absl::StrCat(core::ReasonName(verdict.reason), ": ", verdict.sentence);
}

/// The room that the job's folder takes; "-" for a cluster's job, which has none here.
std::string SizeOf(const StoredJob& job) {
  return job.folder.root().empty() ? "-" : FormatBytes(DiskBytes(job.folder.root()));
}

/// The texts of one line.
struct Row {
  std::string id, state, name, submitted, time, size, reason;
};

std::string RenderList(const std::vector<StoredJob>& jobs, const Wish& wish,
                       const VerbContext& context) {
  std::vector<Row> rows = {{"JOB", "STATE", "NAME", "SUBMITTED", "TIME", "SIZE", "REASON"}};
  for (const StoredJob& job : jobs) {
    rows.push_back({SafeText(job.id), job.job.StateName(), SafeText(job.job.view.job.name),
                    LocalTime(job.submitted_millis),
                    core::FormatDuration(job.job.RunningMillis(context.clock->UnixMillis())),
                    wish.size ? SizeOf(job) : "", SafeText(ReasonOf(job))});
  }
  int id_width = 0, name_width = 0;
  for (const Row& row : rows) {
    id_width = std::max(id_width, DisplayWidth(row.id));
    name_width = std::max(name_width, DisplayWidth(row.name));
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line =
        absl::StrCat(PadToWidth(row.id, id_width), "  ", PadToWidth(row.state, 11), "  ",
                     PadToWidth(row.name, name_width), "  ", PadToWidth(row.submitted, 19), "  ",
                     PadToWidth(row.time, 7), "  ",
                     wish.size ? absl::StrCat(PadToWidth(row.size, 10), "  ") : "", row.reason);
    line.resize(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, CutToWidth(line, context.screen.width), "\n");
  }
  return text;
}

absl::StatusOr<int> RunList(const CommandLine& line, const VerbContext& context) {
  TONY_ASSIGN_OR_RETURN(const Wish wish, ReadWish(line));
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<JobCatalog> catalog, OpenJobs(line, context, ""));
  TONY_ASSIGN_OR_RETURN(std::vector<StoredJob> jobs, catalog->List());
  const bool none = jobs.empty();
  std::erase_if(jobs, [&wish](const StoredJob& job) { return !IsWished(job, wish); });
  if (jobs.size() > wish.most) jobs.resize(wish.most);
  if (!line.Has("json")) {
    context.out(none           ? "There are no jobs.\n"
                : jobs.empty() ? "There are no such jobs.\n"
                               : RenderList(jobs, wish, context));
    return kVerbDone;
  }
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const StoredJob& job : jobs) {
    json.push_back(JobToJson(job, false));
    if (wish.size) json.back()["bytes"] = DiskBytes(job.folder.root());
  }
  context.bytes(DumpJson(json));
  return kVerbDone;
}

}  // namespace

Verb ListVerb() {
  return {"list",
          "",
          "all jobs, newest first",
          "Without options all jobs are listed. --running and --failed together list both kinds.\n",
          {{"running", "", false, "jobs that run or wait"},
           {"failed", "", false, "jobs that failed or were lost"},
           {"newest", "N", false, "only the N newest", "n"},
           {"name", "TEXT", false, "jobs with TEXT in their names"},
           {"size", "", false, "also the room that each job's folder takes on the disk"}},
          0,
          &RunList,
          &UsualVerbExits,
          {"ls", "ps"}};
}

}  // namespace tony::client
