// `tony kill`: ends a job and waits until it has ended.
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/job_connection.h"
#include "client/job_json.h"
#include "client/job_watch.h"
#include "client/terminal.h"
#include "client/verbs.h"
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

/// Asks the job to end, for which its ApplicationMaster has `ask_limit`, and waits for it.
/// DeadlineExceeded – it goes on; Unavailable – it cannot be asked, or went away without a verdict.
absl::Status Stop(const StoredJob& job, Duration ask_limit, std::chrono::seconds wait,
                  const VerbContext& context) {
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<JobWatch> watch, JobWatch::Start(job.folder));
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<rpc::JobClient> client, ConnectToJob(job.folder));
  const std::string reason = absl::StrCat("tony kill by ", context.environment.user);
  const absl::Status asked = client->Stop(reason, ask_limit);
  // A refusal may only mean that the job has just ended by itself; its folder tells.
  const TimePoint deadline = context.clock->Now() + (asked.ok() ? wait : std::chrono::seconds(1));
  while (!watch->over()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - context.clock->Now());
    if (left.count() <= 0) break;
    TONY_RETURN_IF_ERROR(watch->Wait(left).status());
  }
  if (watch->ended()) return absl::OkStatus();
  if (!asked.ok()) return Annotate(asked, absl::StrCat("job ", job.id, " cannot be asked to end"));
  if (watch->over()) {
    return absl::UnavailableError(
        absl::StrCat("the ApplicationMaster of ", job.id, " went away without a verdict"));
  }
  return absl::DeadlineExceededError(
      absl::StrCat("job ", job.id, " was asked to end, but has not within ", wait.count(),
                   " s; tony status ", job.id, " shows what it waits for"));
}

absl::StatusOr<int> RunKill(const CommandLine& line, const VerbContext& context) {
  if (line.positionals.empty()) {
    return absl::InvalidArgumentError("name the job to end, or \"latest\": tony kill JOB");
  }
  TONY_ASSIGN_OR_RETURN(const std::chrono::seconds wait, ReadWait(line));
  TONY_ASSIGN_OR_RETURN(const spec::Configuration configuration, ConfigurationOf(line, context));
  const JobStore store(configuration.GetText("tony.local.dir"));
  TONY_ASSIGN_OR_RETURN(StoredJob job, store.Find(line.positionals[0]));
  if (job.ended()) {
    context.err(absl::StrCat("tony: job ", job.id, " has already ended\n"));
  } else if (!job.alive) {
    return absl::NotFoundError(absl::StrCat("job ", job.id, " does not run: ", job.sentence));
  } else {
    TONY_RETURN_IF_ERROR(
        Stop(job, configuration.GetDuration("tony.client.stop-timeout-ms"), wait, context));
    TONY_ASSIGN_OR_RETURN(job, store.Read(job.id));
  }
  context.out(line.Has("json") ? DumpJson(JobToJson(job, false))
                               : RenderVerdict(job.job.view, context.screen));
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
