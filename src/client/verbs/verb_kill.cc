// `tony kill`: ends jobs and waits until they have ended. A job that has ended already is no error,
// so the verb may be repeated.
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"
#include "client/show/job_table.h"
#include "client/verbs/named_jobs.h"
#include "client/verbs/verbs.h"
#include "common/status_macros.h"

namespace tony::client {
namespace {

constexpr char kDefaultWait[] = "60";

absl::StatusOr<std::chrono::seconds> ReadWait(const CommandLine& line) {
  const std::string text = line.Has("wait") ? line.Value("wait") : kDefaultWait;
  int seconds = 0;
  if (!absl::SimpleAtoi(text, &seconds) || seconds < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--wait '", text, "' is no number of seconds; write --wait=60"));
  }
  return std::chrono::seconds(seconds);
}

/// Ends one job; returns it as it is after its end.
absl::StatusOr<StoredJob> Kill(JobCatalog& jobs, const StoredJob& job, const StopWish& wish,
                               const VerbContext& context) {
  if (job.ended()) {
    context.err(absl::StrCat("tony: job ", SafeText(job.id), " has already ended\n"));
    return job;
  }
  TONY_RETURN_IF_ERROR(jobs.Stop(job, wish));
  // The job is read again for its verdict.
  return jobs.Find(job.id);
}

absl::StatusOr<int> RunKill(const CommandLine& line, const VerbContext& context) {
  if (line.positionals.empty()) {
    return absl::InvalidArgumentError("name the job to end, or \"latest\": tony kill JOB");
  }
  StopWish wish;
  TONY_ASSIGN_OR_RETURN(wish.wait, ReadWait(line));
  TONY_ASSIGN_OR_RETURN(const jobfile::Configuration configuration, ConfigurationOf(line, context));
  wish.reason = absl::StrCat("tony kill by ", context.environment.user);
  wish.ask_limit = configuration.GetDuration("tony.client.stop-timeout-ms");
  TONY_ASSIGN_OR_RETURN(const NamedJobs named, FindNamedJobs(line, context, line.positionals));
  // A job that cannot be ended does not keep the others from their ends.
  absl::Status failed;
  std::vector<StoredJob> ended;
  for (const StoredJob& job : named.jobs) {
    absl::StatusOr<StoredJob> end = Kill(*named.catalog, job, wish, context);
    if (end.ok()) {
      ended.push_back(*std::move(end));
    } else if (failed.ok()) {
      failed = end.status();
    } else {
      Say(context, std::string(end.status().message()));
    }
  }
  if (line.Has("json") && !ended.empty()) PrintJobsJson(ended, line.positionals.size(), context);
  for (const StoredJob& job : ended) {
    if (line.Has("json")) break;
    context.out(named.jobs.size() == 1 ? RenderVerdict(job.job.view, context.screen)
                                       : EndLine(job));
  }
  TONY_RETURN_IF_ERROR(failed);
  return kVerbDone;
}

}  // namespace

Verb KillVerb() {
  return {"kill",
          "JOB…",
          "end jobs, and wait for their verdicts",
          "JOB is a job's name, a part of it from the start or to the end, or \"latest\".\n",
          {{"wait", "SECONDS", false, "how long to wait for the end; 60 unless given"}},
          kAnyNumber,
          &RunKill,
          &UsualVerbExits,
          {"stop", "cancel"}};
}

}  // namespace tony::client
