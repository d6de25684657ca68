// A job's state is its events replayed, completed by the locks in its folder: events alone cannot
// tell a running job from a lost one.
#include "client/jobs/job_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/jobs/choose_job.h"
#include "common/status_macros.h"
#include "core/record/job_wait.h"
#include "history/recorded_events.h"
#include "os/files/file_lock.h"
#include "os/files/files.h"
#include "storage/job_liveness.h"

namespace tony::client {
namespace {

/// When the job was submitted: the time of its first event, or else the time of its folder.
int64_t SubmittedMillis(const storage::JobFolder& folder) {
  int64_t millis = 0;
  history::ForEachRecordedEvent(folder, [&](int, const absl::StatusOr<core::JobEvent>& event) {
    if (event.ok()) millis = event->unix_millis;
    return false;
  });
  struct stat status {};
  if (millis == 0 && stat(folder.root().c_str(), &status) == 0) {
    millis = int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1'000'000;
  }
  return millis;
}

/// The wait of a job that has no ApplicationMaster to tell one.
core::JobWaiting WaitForMaster(bool had_one) {
  if (had_one) {
    return {"its ApplicationMaster was lost, and another one is to go on",
            {"the ApplicationMaster"},
            "tony-submit, or the keeper of a detached job, starts it "
            "(tony.am.max-restarts); the tasks run on meanwhile"};
  }
  return {"its files are staged, and its ApplicationMaster starts",
          {"the ApplicationMaster"},
          "tony-submit does both"};
}

/// Fills in a sentence about the wait when no event has one, and forgets what a lost job showed.
void FillInWait(StoredJob& job) {
  core::JobView& view = job.job.view;
  const bool had_master = view.last_sequence > 0;
  if (job.ended() || job.job.lost) {
    view.waiting.reset();
    view.visualization.reset();
  } else if (!os::IsFileLocked(job.folder.am_lock())) {
    view.waiting = WaitForMaster(had_master);
    view.waiting_since_millis = had_master ? job.job.last_millis : job.submitted_millis;
  } else if (!view.waiting) {
    view.waiting = core::WaitOf(view);
    view.waiting_since_millis =
        view.state_since_millis != 0 ? view.state_since_millis : job.submitted_millis;
  }
}

}  // namespace

absl::StatusOr<std::vector<std::string>> JobStore::Ids() const {
  const std::string jobs = storage::JobsFolder(local_dir_);
  std::error_code error;
  std::filesystem::directory_iterator folder(jobs, error);
  if (error == std::errc::no_such_file_or_directory) return std::vector<std::string>();
  std::vector<std::pair<int64_t, std::string>> found;
  while (!error && folder != std::filesystem::directory_iterator()) {
    // A folder with a dot in front is being made and is no job yet.
    const std::string id = folder->path().filename().string();
    std::error_code ignored;
    if (id[0] != '.' && folder->is_directory(ignored)) {
      found.emplace_back(SubmittedMillis(storage::JobFolder(folder->path().string())), id);
    }
    folder.increment(error);
  }
  if (error) {
    const std::string message = absl::StrCat("cannot read ", jobs, ": ", error.message());
    return error == std::errc::permission_denied ? absl::PermissionDeniedError(message)
                                                 : absl::UnavailableError(message);
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> ids;
  for (auto& [millis, id] : found) ids.push_back(std::move(id));
  return ids;
}

absl::StatusOr<std::vector<StoredJob>> JobStore::List() const {
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> ids, Ids());
  std::vector<StoredJob> jobs;
  for (const std::string& id : ids) {
    absl::StatusOr<StoredJob> job = Read(id);
    if (job.ok()) jobs.push_back(*std::move(job));  // else the job was removed meanwhile
  }
  return jobs;
}

absl::StatusOr<StoredJob> JobStore::Find(const std::string& wish) const {
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> ids, Ids());
  TONY_ASSIGN_OR_RETURN(
      const std::string id,
      ChooseJob(ids, wish, absl::StrCat("under ", storage::JobsFolder(local_dir_))));
  return Read(id);
}

absl::StatusOr<StoredJob> JobStore::Read(const std::string& id) const {
  StoredJob job;
  job.id = id;
  job.folder = storage::JobFolder(absl::StrCat(storage::JobsFolder(local_dir_), "/", id));
  std::error_code ignored;
  if (!std::filesystem::is_directory(job.folder.root(), ignored)) {
    return absl::NotFoundError(absl::StrCat("no job '", id, "'"));
  }
  // The lock is looked at before the events. In the other order, a job that ends in between would
  // look lost.
  job.alive = storage::IsAlive(job.folder);
  history::ForEachRecordedEvent(
      job.folder, [&](int number, const absl::StatusOr<core::JobEvent>& event) {
        if (event.ok()) {
          job.job.Apply(*event);
        } else if (absl::IsFailedPrecondition(event.status())) {
          job.job.unreadable = true;
          job.sentence = std::string(event.status().message());
          return false;
        } else if (job.sentence.empty()) {
          job.sentence = absl::StrCat(
              job.folder.events(), ":", number,
              " cannot be read and is left out: ", std::string(event.status().message()));
        }
        return true;
      });
  // The usage of an ended job is in its events (JobFolder::usage()).
  if (!job.ended()) {
    const absl::StatusOr<std::string> usage = os::ReadFile(job.folder.usage());
    if (usage.ok()) history::AddMeasurements(*usage, job.job.view);
  }
  job.submitted_millis = SubmittedMillis(job.folder);
  if (job.job.unreadable) return job;
  job.job.lost = !job.alive && !job.ended();
  const bool started =
      job.job.view.last_sequence > 0 || std::filesystem::exists(job.folder.am_log(), ignored);
  if (job.job.lost && started) {
    job.sentence = absl::StrCat(
        "its ApplicationMaster went away without a verdict; its last words: tony logs ", id, " am");
  } else if (job.job.lost) {
    job.sentence = "the client that submitted it was gone before its ApplicationMaster had started";
  }
  FillInWait(job);
  return job;
}

}  // namespace tony::client
