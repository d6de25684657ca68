// `tony rm`: removes past jobs with their histories and logs, by name, by age or by number.
//
// A job that runs is never removed, and checkpoints only on request: they are work, not history.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cli/durations.h"
#include "client/cli/terminal.h"
#include "client/jobs/job_json.h"
#include "client/jobs/remove_job.h"
#include "client/verbs/named_jobs.h"
#include "client/verbs/verbs.h"
#include "common/status_macros.h"

namespace tony::client {
namespace {

/// The time of the last thing that is known of a job.
int64_t LastMillis(const StoredJob& job) {
  return std::max({job.job.view.ended_millis, job.job.last_millis, job.submitted_millis});
}

/// Which past jobs are old enough to be removed.
struct OldJobs {
  std::optional<Duration> age;  ///< at least so long ago
  size_t keep = 0;              ///< the newest so many stay
};

absl::StatusOr<OldJobs> ReadOldJobs(const CommandLine& line) {
  OldJobs old;
  if (line.Has("older")) {
    TONY_ASSIGN_OR_RETURN(old.age, ParseDuration("older", line.Value("older"), "7d"));
  }
  if (line.Has("keep") && !absl::SimpleAtoi(line.Value("keep"), &old.keep)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--keep '", line.Value("keep"), "' is no number of jobs; write --keep=20"));
  }
  return old;
}

/// Those of `jobs`, newest first, that are over and as old as `old` says.
std::vector<StoredJob> Choose(std::vector<StoredJob> jobs, const OldJobs& old, int64_t now_millis) {
  jobs.erase(jobs.begin(), jobs.begin() + std::min(old.keep, jobs.size()));
  std::erase_if(jobs, [&](const StoredJob& job) {
    if (job.alive) return true;
    return old.age && now_millis - LastMillis(job) < *old.age / std::chrono::milliseconds(1);
  });
  return jobs;
}

/// Removes jobs one by one and tells of each. Not thread safe.
class Removal {
 public:
  /// `named`: the user has named each job, so one that stays is a failure.
  Removal(JobCatalog& catalog, bool named, const CommandLine& line, const VerbContext& context)
      : catalog_(catalog),
        context_(context),
        named_(named),
        json_(line.Has("json")),
        checkpoints_(line.Has("checkpoints")) {}

  void Remove(const StoredJob& job) {
    const int64_t bytes = DiskBytes(job.folder.root());
    const absl::Status status = catalog_.Remove(job, checkpoints_);
    if (absl::IsFailedPrecondition(status) && !named_) {
      ++staying_;
      return;
    }
    if (!status.ok()) {
      Say(context_, std::string(status.message()));
      return failures_.Update(status);
    }
    ++jobs_;
    bytes_ += bytes;
    removed_.push_back({{"id", job.id}, {"bytes", bytes}});
    if (!json_) {
      context_.out(absl::StrCat(SafeText(job.id), "  ", job.job.StateName(), "  ",
                                FormatBytes(bytes), " removed\n"));
    }
  }

  void Summarize() const {
    if (staying_ > 0) {
      context_.err(absl::StrCat("tony: ", staying_, staying_ == 1 ? " job" : " jobs",
                                " with checkpoints stayed; --checkpoints removes them too\n"));
    }
    if (json_) return context_.bytes(DumpJson(removed_));
    if (jobs_ > 1) context_.out(absl::StrCat(jobs_, " jobs, ", FormatBytes(bytes_), " removed\n"));
  }

  /// The first failure.
  const absl::Status& failures() const { return failures_; }

 private:
  JobCatalog& catalog_;
  const VerbContext& context_;
  const bool named_;
  const bool json_;
  const bool checkpoints_;
  int jobs_ = 0;
  int staying_ = 0;
  int64_t bytes_ = 0;
  nlohmann::ordered_json removed_ = nlohmann::ordered_json::array();
  absl::Status failures_;
};

/// A job that runs, has checkpoints or is gone leaves the user with something to do, and any other
/// failure is the machine's.
int ExitOf(const absl::Status& failures) {
  if (failures.ok()) return kVerbDone;
  const bool possible_later = absl::IsFailedPrecondition(failures) || absl::IsNotFound(failures);
  return possible_later ? kVerbNotPossible : kVerbFailed;
}

absl::StatusOr<int> RunRm(const CommandLine& line, const VerbContext& context) {
  const bool by_age = line.Has("older") || line.Has("keep");
  if (line.positionals.empty() == !by_age) {
    return absl::InvalidArgumentError(
        "name the jobs to remove, or say how old they are: tony rm JOB, tony rm --older 7d, or "
        "tony rm --keep 20");
  }
  if (!by_age) {
    TONY_ASSIGN_OR_RETURN(const NamedJobs named, FindNamedJobs(line, context, line.positionals));
    Removal removal(*named.catalog, /*named=*/true, line, context);
    for (const StoredJob& job : named.jobs) removal.Remove(job);
    removal.Summarize();
    return ExitOf(removal.failures());
  }
  TONY_ASSIGN_OR_RETURN(const OldJobs old, ReadOldJobs(line));
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<JobCatalog> catalog, OpenJobs(line, context, ""));
  TONY_ASSIGN_OR_RETURN(std::vector<StoredJob> jobs, catalog->List());
  jobs = Choose(std::move(jobs), old, context.clock->UnixMillis());
  if (jobs.empty() && !line.Has("json")) context.out("There are no such jobs.\n");
  Removal removal(*catalog, /*named=*/false, line, context);
  for (const StoredJob& job : jobs) removal.Remove(job);
  if (!jobs.empty() || line.Has("json")) removal.Summarize();
  return ExitOf(removal.failures());
}

}  // namespace

Verb RmVerb() {
  return {"rm",
          "JOB…",
          "remove past jobs with their histories and logs",
          "JOB is a job's name, a part of it from the start or to the end, or \"latest\".\n"
          "With --older or --keep, or both, the jobs are chosen by their age instead. A job that "
          "runs is never\nremoved. A job with checkpoints in its folder stays, unless "
          "--checkpoints is given.\n",
          {{"older", "AGE", false, "all jobs that ended at least so long ago: 7d, 12h"},
           {"keep", "N", false, "all jobs but the N newest"},
           {"checkpoints", "", false, "also jobs with checkpoints, which are lost then"}},
          kAnyNumber,
          &RunRm};
}

}  // namespace tony::client
