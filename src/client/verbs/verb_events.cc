// `tony events`: what has happened to a job, for programs, once or while the job runs.
//
// A job of this machine is followed by its folder and not through its ApplicationMaster, which is
// not there yet when the job has just been submitted, and may be replaced.
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"
#include "client/follow/attached_source.h"
#include "client/follow/follow_job.h"
#include "client/verbs/verbs.h"
#include "common/safe_text.h"
#include "common/status_macros.h"
#include "history/job_watch.h"
#include "history/line_tail.h"
#include "rpc/convert/event_json.h"

namespace tony::client {
namespace {

/// Longest wait for the job's folder at once.
constexpr std::chrono::hours kSlice{1};

void Print(const core::JobEvent& event, const VerbContext& context) {
  context.bytes(absl::StrCat(SafeJson(rpc::EventToJsonLine(event)), "\n"));
}

void SayUnreadable(const StoredJob& job, const absl::Status& why, const VerbContext& context) {
  context.err(absl::StrCat(
      "tony: an event of job ", SafeText(job.id),
      " cannot be read and is left out: ", SafeText(std::string(why.message())), "\n"));
}

/// Prints the job's whole record.
absl::Status PrintRecorded(JobCatalog& jobs, const StoredJob& job, const VerbContext& context) {
  return jobs.ReadEvents(job, [&](int, const absl::StatusOr<core::JobEvent>& event) {
    if (event.ok()) {
      Print(*event, context);
      return true;
    }
    SayUnreadable(job, event.status(), context);
    // A newer version's record has other meanings from its first line on.
    return !absl::IsFailedPrecondition(event.status());
  });
}

/// As PrintRecorded(), until the end of a job of this machine. The codes of history::JobWatch.
absl::Status FollowFolder(const StoredJob& job, const VerbContext& context) {
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<history::JobWatch> watch,
                        history::JobWatch::Start(job.folder));
  history::LineTail lines(job.folder.events());
  const auto print = [&](const std::string& line) {
    const absl::StatusOr<core::JobEvent> event = rpc::EventFromJsonLine(line);
    event.ok() ? Print(*event, context) : SayUnreadable(job, event.status(), context);
  };
  while (true) {
    // Asked before the events are read, so that none of the last ones is missed.
    const bool over = watch->over();
    lines.Read(print);
    if (over) return absl::OkStatus();
    TONY_RETURN_IF_ERROR(watch->Wait(kSlice).status());
  }
}

/// As PrintRecorded(), until the end of a cluster's job, from its ApplicationMaster.
absl::Status FollowMaster(JobCatalog& jobs, const StoredJob& job, const VerbContext& context,
                          const jobfile::Configuration& configuration) {
  SubmitOptions style;
  style.json = true;
  const auto make_source = [&](EventLoop& loop, const Clock&) {
    return std::make_unique<AttachedSource>(loop, jobs, job);
  };
  const absl::Status followed =
      FollowJob(style, context.environment, configuration,
                {.id = job.id, .make_source = make_source, .owner = false})
          .status();
  // Ctrl-C ends the following, which is no failure of it.
  return absl::IsCancelled(followed) ? absl::OkStatus() : followed;
}

absl::StatusOr<int> RunEvents(const CommandLine& line, const VerbContext& context) {
  const std::string wish = line.positionals.empty() ? "latest" : line.positionals[0];
  TONY_ASSIGN_OR_RETURN(const jobfile::Configuration configuration, ConfigurationOf(line, context));
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<JobCatalog> jobs, OpenJobs(line, context, wish));
  TONY_ASSIGN_OR_RETURN(const StoredJob job, jobs->Find(wish));
  if (!line.Has("follow") || !job.alive) {
    TONY_RETURN_IF_ERROR(PrintRecorded(*jobs, job, context));
  } else if (!job.folder.root().empty()) {
    TONY_RETURN_IF_ERROR(FollowFolder(job, context));
  } else {
    TONY_RETURN_IF_ERROR(FollowMaster(*jobs, job, context, configuration));
  }
  return kVerbDone;
}

}  // namespace

Verb EventsVerb() {
  return {
      "events",
      "[JOB]",
      "what has happened to a job, as JSON lines",
      "JOB is a job's name, a part of it from the start or to the end, or \"latest\" (the "
      "default).\n"
      "Prints one JSON object a line, as tony-submit --json does, with or without --json. Lines "
      "without\na \"sequence\" are measurements of a cluster's running job.\n",
      {{"follow", "", false, "go on printing until the job has ended", "f"}},
      1,
      &RunEvents};
}

}  // namespace tony::client
