// `tony attach`: shows a running job as tony-submit does, for a user who comes back to it.
//
// The job stays another process's: neither Ctrl-C nor the end of this program ends it. With --owner
// it becomes this one's, as a step's job whose client hands it over (docs/design/steps.md).
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cli/options.h"
#include "client/cli/terminal.h"
#include "client/follow/attached_source.h"
#include "client/follow/follow_job.h"
#include "client/follow/parent_watch.h"
#include "client/show/job_table.h"
#include "client/verbs/named_jobs.h"
#include "client/verbs/verbs.h"
#include "common/status_macros.h"

namespace tony::client {
namespace {

/// The end of a job that was over before anybody could attach.
int ShowEnd(const StoredJob& job, const CommandLine& line, const VerbContext& context) {
  if (line.Has("json")) {
    PrintJobsJson({job}, 1, context);
  } else if (job.ended()) {
    context.out(RenderVerdict(job.job.view, context.screen));
  } else {
    context.out(absl::StrCat(job.job.StateName(), ": ", SafeText(job.sentence), "\n"));
  }
  return ExitStatusOf(job);
}

absl::StatusOr<int> RunAttach(const CommandLine& line, const VerbContext& context) {
  const std::vector<std::string> wishes =
      line.positionals.empty() ? std::vector<std::string>{"latest"} : line.positionals;
  TONY_ASSIGN_OR_RETURN(const jobfile::Configuration configuration, ConfigurationOf(line, context));
  const absl::StatusOr<NamedJobs> named = FindNamedJobs(line, context, wishes);
  if (!named.ok()) return AsBadUsage(named.status());
  const absl::StatusOr<int> parent = ReadParent(line, "leave-with");
  if (!parent.ok()) return AsBadUsage(parent.status());
  const StoredJob& job = named->jobs.front();
  if (!job.alive) return ShowEnd(job, line, context);
  SubmitOptions style;
  style.json = line.Has("json");
  style.quiet = line.Has("quiet");
  style.all = line.Has("all");
  const auto make_source = [&](EventLoop& loop, const Clock&) {
    return std::make_unique<AttachedSource>(loop, *named->catalog, job);
  };
  std::optional<ParentWatch> watch;
  if (*parent > 0) watch.emplace(*parent);
  const absl::StatusOr<core::Verdict> verdict =
      FollowJob(style, context.environment, configuration,
                {.id = job.id,
                 .make_source = make_source,
                 .owner = line.Has("owner"),
                 .step = {.parent_fd = watch ? watch->fd() : -1}});
  if (verdict.ok()) return core::ExitCode(*verdict);
  if (!absl::IsCancelled(verdict.status())) return verdict.status();
  const std::string id = SafeText(job.id);
  context.err(absl::StrCat("tony: job ", id, " goes on; tony attach ", id,
                           " shows it again, tony kill ", id, " ends it\n"));
  return kVerbJobGoesOn;
}

}  // namespace

Verb AttachVerb() {
  return {
      "attach",
      "[JOB]",
      "show a running job as tony-submit does; Ctrl-C leaves it alone",
      "JOB is a job's name, a part of it from the start or to the end, or \"latest\" (the "
      "default).\n"
      "Shows the table of tony-submit, or lines if the output is no terminal, and ends with the "
      "job.\nCtrl-C ends this program and not the job (exit status 6); tony kill ends a job. With "
      "--owner\nCtrl-C stops the job, and without this program the job ends, a step's after "
      "tony.client.lease.\n",
      {{"owner", "", false, "the job is this program's from now on, as that of tony-submit is"},
       {"leave-with", "PID", false, "leave the job when the parent process PID has ended"},
       {"quiet", "", false, "print the verdict only"},
       {"all", "", false, "list each task in the table, also where many are alike"}},
      1,
      &RunAttach,
      &JobVerbExits};
}

}  // namespace tony::client
