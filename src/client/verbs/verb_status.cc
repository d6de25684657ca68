// `tony status`: one job, while it runs and afterwards.
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/terminal.h"
#include "client/jobs/job_json.h"
#include "client/show/job_table.h"
#include "client/verbs/verbs.h"
#include "common/status_macros.h"

namespace tony::client {
namespace {

/// "Containment: cgroup": the ways in which the tasks' processes are held together, each way once.
std::string ContainmentLine(const core::JobView& view) {
  std::set<std::string> ways;
  for (const core::JobView::Task& task : view.tasks) {
    if (!task.last.containment.empty()) ways.insert(SafeText(task.last.containment));
  }
  return ways.empty() ? "" : absl::StrCat("Containment: ", absl::StrJoin(ways, ", "), "\n");
}

absl::StatusOr<int> RunStatus(const CommandLine& line, const VerbContext& context) {
  const std::string wish = line.positionals.empty() ? "latest" : line.positionals[0];
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<JobCatalog> jobs, OpenJobs(line, context, wish));
  TONY_ASSIGN_OR_RETURN(const StoredJob job, jobs->Find(wish));
  if (line.Has("json")) {
    context.bytes(DumpJson(JobToJson(job, true)));
    return kVerbDone;
  }
  Screen screen = context.screen;
  // Printed once, so it may scroll.
  screen.max_tasks = std::numeric_limits<int>::max();
  screen.rows = 0;
  screen.all = line.Has("all");
  std::string text;
  if (job.job.view.last_sequence == 0) {
    text = SafeText(absl::StrCat(job.id, "  ", job.job.StateName())) + "\n";
    const std::string waiting = RenderWaiting(job.job.view, context.clock->UnixMillis());
    if (!waiting.empty()) absl::StrAppend(&text, waiting, "\n");
  } else {
    // An ended job has no running task, and so no lines.
    text = RenderJobTable(job.job, context.clock->UnixMillis(), screen,
                          job.alive ? TaskLines().Read(job.job.view) : std::vector<TaskLine>());
  }
  for (const core::JobView::Attempt& attempt : job.job.view.attempts)
    absl::StrAppend(&text, SafeText(attempt.Describe()), "\n");
  absl::StrAppend(&text, ContainmentLine(job.job.view));
  for (const std::string& note : job.job.view.notes)
    absl::StrAppend(&text, "Note: ", SafeText(note), "\n");
  if (!job.sentence.empty())
    absl::StrAppend(&text, job.job.StateName(), ": ", SafeText(job.sentence), "\n");
  context.out(absl::StrCat(text, RenderVerdict(job.job.view, screen)));
  return kVerbDone;
}

}  // namespace

Verb StatusVerb() {
  return {
      "status",
      "[JOB]",
      "one job: its tasks, what it waits for, its earlier attempts, its verdict",
      "JOB is a job's name, a part of it from the start or to the end, or \"latest\" (the "
      "default).\nTasks of a type that are alike share a row, if the job has more than 16 tasks.\n",
      {{"all", "", false, "list each task, also where many are alike"}},
      1,
      &RunStatus};
}

}  // namespace tony::client
