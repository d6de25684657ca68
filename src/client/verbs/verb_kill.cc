// `tony kill`: ends a job and waits until it has ended. A job that has ended already is no error,
// so the verb may be repeated.
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"
#include "client/jobs/job_json.h"
#include "client/show/job_table.h"
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

absl::StatusOr<int> RunKill(const CommandLine& line, const VerbContext& context) {
  if (line.positionals.empty()) {
    return absl::InvalidArgumentError("name the job to end, or \"latest\": tony kill JOB");
  }
  TONY_ASSIGN_OR_RETURN(const std::chrono::seconds wait, ReadWait(line));
  TONY_ASSIGN_OR_RETURN(const jobfile::Configuration configuration, ConfigurationOf(line, context));
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<JobCatalog> jobs,
                        OpenJobs(line, context, line.positionals[0]));
  TONY_ASSIGN_OR_RETURN(StoredJob job, jobs->Find(line.positionals[0]));
  if (job.ended()) {
    context.err(absl::StrCat("tony: job ", job.id, " has already ended\n"));
  } else {
    StopWish wish;
    wish.reason = absl::StrCat("tony kill by ", context.environment.user);
    wish.ask_limit = configuration.GetDuration("tony.client.stop-timeout-ms");
    wish.wait = wait;
    TONY_RETURN_IF_ERROR(jobs->Stop(job, wish));
    // The job is read again for its verdict.
    TONY_ASSIGN_OR_RETURN(job, jobs->Find(job.id));
  }
  if (line.Has("json")) {
    context.bytes(DumpJson(JobToJson(job, false)));
  } else {
    context.out(RenderVerdict(job.job.view, context.screen));
  }
  return kVerbDone;
}

}  // namespace

Verb KillVerb() {
  return {"kill",
          "JOB",
          "end a job, and wait for its verdict",
          "JOB is a job's name, a part of it from the start or to the end, or \"latest\".\n",
          {{"wait", "SECONDS", false, "how long to wait for the end; 60 unless given"}},
          1,
          &RunKill};
}

}  // namespace tony::client
