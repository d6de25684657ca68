// A job is asked to stop through its ApplicationMaster, but its end is read from its folder: the
// watch starts before the question, so that an end in between is not missed.
#include "client/catalog/local_jobs.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/jobs/job_connection.h"
#include "client/jobs/remove_job.h"
#include "common/status_macros.h"
#include "history/job_watch.h"
#include "os/files/folder_watcher.h"
#include "pagedata/kept_stacks.h"
#include "rpc/convert/event_lines.h"
#include "storage/job_liveness.h"

namespace tony::client {
namespace {

/// Longest sleep between two looks at jobs that are waited for.
constexpr std::chrono::milliseconds kLookInterval{500};
/// Time for a job that has its verdict to tidy up; after that it counts as over.
constexpr std::chrono::seconds kTidyPatience{30};

/// Whether the job of `folder` is over. `ended_since`: when jobs' verdicts were first seen.
bool IsOver(const storage::JobFolder& folder, TimePoint now,
            std::map<std::string, TimePoint>& ended_since) {
  if (!storage::IsAlive(folder)) return true;
  const absl::StatusOr<rpc::HistoryEnd> end = rpc::ReadHistoryEnd(folder.events());
  if (!end.ok() || !end->ended) return false;
  const auto [since, first] = ended_since.try_emplace(folder.root(), now);
  return now - since->second >= kTidyPatience;
}

}  // namespace

absl::Status LocalJobs::ReadEvents(const StoredJob& job, const history::UseEvent& use) {
  history::ForEachRecordedEvent(job.folder, use);
  return absl::OkStatus();
}

absl::StatusOr<JobCatalog::KeptStacks> LocalJobs::ReadStacks(const StoredJob& job) {
  const std::optional<pagedata::KeptStacksFile> file = pagedata::FindStacksOfAll(job.folder);
  if (!file) return absl::NotFoundError(absl::StrCat("job ", job.id, " has not seemed to hang"));
  TONY_ASSIGN_OR_RETURN(std::string text,
                        pagedata::ReadKeptStacks(file->path, pagedata::kMostKeptBytes));
  return KeptStacks{file->path, std::move(text)};
}

absl::Status LocalJobs::Stop(const StoredJob& job, const StopWish& wish) {
  if (!job.alive) {
    return absl::NotFoundError(absl::StrCat("job ", job.id, " does not run: ", job.sentence));
  }
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<history::JobWatch> watch,
                        history::JobWatch::Start(job.folder));
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<rpc::JobClient> client, Connect(job));
  const absl::Status asked = client->Stop(wish.reason, wish.ask_limit);
  // A refusal may only mean that the job has just ended by itself; its folder tells within the
  // second.
  const TimePoint deadline = clock_.Now() + (asked.ok() ? wish.wait : std::chrono::seconds(1));
  while (!watch->over()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock_.Now());
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
      absl::StrCat("job ", job.id, " was asked to end, but has not within ", wish.wait.count(),
                   " s; tony status ", job.id, " shows what it waits for"));
}

absl::StatusOr<std::vector<StoredJob>> LocalJobs::AwaitEnds(const std::vector<StoredJob>& jobs,
                                                            Duration limit) {
  // A new event or a closed lock of any of the jobs ends the sleep. The bound on it is for the
  // moment in which the kernel has reported a closed lock file and not released the lock yet.
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<os::FolderWatcher> watcher,
                        os::FolderWatcher::Create());
  for (const StoredJob& job : jobs) TONY_RETURN_IF_ERROR(watcher->Watch(job.folder.root()));
  const TimePoint deadline = clock_.Now() + limit;
  std::map<std::string, TimePoint> ended_since;
  while (true) {
    const TimePoint now = clock_.Now();
    std::vector<StoredJob> over;
    for (const StoredJob& job : jobs) {
      if (!IsOver(job.folder, now, ended_since)) continue;
      TONY_ASSIGN_OR_RETURN(StoredJob read, store_.Read(job.id));
      over.push_back(std::move(read));
    }
    if (!over.empty() || now >= deadline) return over;
    const auto sleep = std::min<Duration>(deadline - now, kLookInterval);
    TONY_RETURN_IF_ERROR(
        watcher->Wait(std::chrono::ceil<std::chrono::milliseconds>(sleep)).status());
  }
}

absl::Status LocalJobs::Remove(const StoredJob& job, bool checkpoints) {
  return RemoveJob(job.folder, checkpoints);
}

absl::StatusOr<std::unique_ptr<rpc::JobClient>> LocalJobs::Connect(const StoredJob& job) {
  return ConnectToJob(job.folder);
}

}  // namespace tony::client
