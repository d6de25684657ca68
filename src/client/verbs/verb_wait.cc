// `tony wait`: sleeps until jobs are over, for scripts that submitted them with --detach.
//
// The catalog tells of each end, also across a loss of the ApplicationMaster: a job whose next
// ApplicationMaster is on its way is not over.
#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/durations.h"
#include "client/cli/terminal.h"
#include "client/verbs/named_jobs.h"
#include "client/verbs/verbs.h"
#include "common/status_macros.h"
#include "core/record/duration_text.h"

namespace tony::client {
namespace {

/// Longest wait for the catalog at once; it is asked again after that.
constexpr std::chrono::hours kSlice{1};

/// The time at which a job that is over came to its end, as far as its events tell.
int64_t EndMillis(const StoredJob& job) {
  return job.ended() ? job.job.view.ended_millis : job.job.last_millis;
}

/// The jobs that a verb waits for. Plain data.
struct Awaited {
  std::vector<StoredJob> running;
  std::vector<StoredJob> over;  ///< in the order of their ends

  /// Moves `ended` from the running jobs to those that are over, earliest end first.
  void Take(std::vector<StoredJob> ended) {
    std::stable_sort(ended.begin(), ended.end(), [](const StoredJob& left, const StoredJob& right) {
      return EndMillis(left) < EndMillis(right);
    });
    for (StoredJob& job : ended) {
      std::erase_if(running, [&job](const StoredJob& other) { return other.id == job.id; });
      over.push_back(std::move(job));
    }
  }
};

/// The sentence of a wait that was given up after `limit`.
std::string TimeOut(const Awaited& jobs, Duration limit) {
  std::vector<std::string> ids;
  for (const StoredJob& job : jobs.running) ids.push_back(job.id);
  const std::string who =
      ids.size() == 1 ? absl::StrCat("job ", ids[0], " goes on")
                      : absl::StrCat(ids.size(), " jobs go on (", absl::StrJoin(ids, ", "), ")");
  return absl::StrCat("tony: ", SafeText(who), " after ", core::SecondsText(limit),
                      " (--timeout); tony status ", SafeText(ids[0]),
                      " shows what it does, tony kill ends it\n");
}

absl::StatusOr<int> RunWait(const CommandLine& line, const VerbContext& context) {
  if (line.positionals.empty()) {
    return absl::InvalidArgumentError("name the jobs to wait for, or \"latest\": tony wait JOB");
  }
  std::optional<Duration> limit;
  if (line.Has("timeout")) {
    TONY_ASSIGN_OR_RETURN(limit, ParseDuration("timeout", line.Value("timeout"), "600"));
  }
  absl::StatusOr<NamedJobs> named = FindNamedJobs(line, context, line.positionals);
  if (!named.ok()) return AsBadUsage(named.status());
  Awaited jobs{std::move(named->jobs), {}};
  const bool json = line.Has("json");
  const TimePoint began = context.clock->Now();
  std::vector<StoredJob> ended;
  std::copy_if(jobs.running.begin(), jobs.running.end(), std::back_inserter(ended),
               [](const StoredJob& job) { return !job.alive; });
  while (true) {
    const size_t before = jobs.over.size();
    jobs.Take(std::move(ended));
    for (size_t index = before; index < jobs.over.size() && !json; ++index) {
      context.out(EndLine(jobs.over[index]));
      if (line.Has("any")) break;
    }
    if (jobs.running.empty() || (line.Has("any") && !jobs.over.empty())) break;
    Duration slice = kSlice;
    if (limit) slice = std::min(slice, began + *limit - context.clock->Now());
    if (slice <= Duration::zero()) {
      if (json) PrintJobsJson(jobs.over, 0, context);
      context.err(TimeOut(jobs, *limit));
      return kVerbJobGoesOn;
    }
    TONY_ASSIGN_OR_RETURN(ended, named->catalog->AwaitEnds(jobs.running, slice));
  }
  if (line.Has("any")) jobs.over.resize(1);
  if (json) PrintJobsJson(jobs.over, line.positionals.size(), context);
  for (const StoredJob& job : jobs.over) {
    if (const int status = ExitStatusOf(job); status != kVerbDone) return status;
  }
  return kVerbDone;
}

}  // namespace

Verb WaitVerb() {
  return {"wait",
          "JOB…",
          "wait for jobs to end, with tony-submit's exit status",
          "JOB is a job's name, a part of it from the start or to the end, or \"latest\".\n"
          "Ends when all the jobs have ended, with the exit status of the first that failed. A job "
          "goes on\nwhen its ApplicationMaster is lost and another one takes over, and so does the "
          "wait. Ctrl-C ends\nthe wait only.\n",
          {{"any", "", false, "end with the first job that ends, and with its exit status"},
           {"timeout", "SECONDS", false,
            "how long to wait at most; then the exit status is 6 (also 500ms, 10m, 2h)"}},
          kAnyNumber,
          &RunWait,
          &JobVerbExits};
}

}  // namespace tony::client
