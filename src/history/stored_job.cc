// A job's state is its events replayed, completed by the locks in its folder: events alone cannot
// tell a running job from a lost one.
#include "history/stored_job.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/record/job_wait.h"
#include "history/record_file.h"
#include "history/recorded_events.h"
#include "os/files/file_lock.h"
#include "storage/job_liveness.h"

namespace tony::history {
namespace {

/// A line has some hundred bytes, and each running task has one.
constexpr size_t kMostUsageBytes = size_t{32} << 20;

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

std::string ReadUsage(const storage::JobFolder& folder) {
  return ReadRecordFile(folder.usage(), kMostUsageBytes).value_or("");
}

int64_t SubmittedMillis(const storage::JobFolder& folder) {
  int64_t millis = 0;
  ForEachRecordedEvent(folder, [&](int, const absl::StatusOr<core::JobEvent>& event) {
    if (event.ok()) millis = event->unix_millis;
    return false;
  });
  struct stat status {};
  if (millis == 0 && stat(folder.root().c_str(), &status) == 0) {
    millis = int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1'000'000;
  }
  return millis;
}

bool TakeLine(int number, const absl::StatusOr<core::JobEvent>& event, StoredJob& job) {
  if (event.ok()) {
    job.job.Apply(*event);
  } else if (absl::IsFailedPrecondition(event.status())) {
    job.job.unreadable = true;
    job.sentence = std::string(event.status().message());
    return false;
  } else if (job.sentence.empty()) {
    job.sentence =
        absl::StrCat(job.folder.events(), ":", number,
                     " cannot be read and is left out: ", std::string(event.status().message()));
  }
  return true;
}

void Conclude(StoredJob& job) {
  if (job.job.unreadable) return;
  std::error_code ignored;
  job.job.lost = !job.alive && !job.ended();
  const bool started =
      job.job.view.last_sequence > 0 || std::filesystem::exists(job.folder.am_log(), ignored);
  if (job.job.lost && started) {
    job.sentence = absl::StrCat(
        "its ApplicationMaster went away without a verdict; its last words: tony logs ", job.id,
        " am");
  } else if (job.job.lost) {
    job.sentence = "the client that submitted it was gone before its ApplicationMaster had started";
  }
  FillInWait(job);
}

absl::StatusOr<StoredJob> ReadStoredJob(const storage::JobFolder& folder, const std::string& id,
                                        const std::function<void(const core::JobEvent&)>& use) {
  StoredJob job;
  job.id = id;
  job.folder = folder;
  std::error_code ignored;
  if (!std::filesystem::is_directory(job.folder.root(), ignored)) {
    return absl::NotFoundError(absl::StrCat("no job '", id, "'"));
  }
  // The lock is looked at before the events. In the other order, a job that ends in between would
  // look lost.
  job.alive = storage::IsAlive(job.folder);
  ForEachRecordedEvent(job.folder, [&](int number, const absl::StatusOr<core::JobEvent>& event) {
    if (event.ok() && use) use(*event);
    return TakeLine(number, event, job);
  });
  // The usage of an ended job is in its events (JobFolder::usage()).
  if (!job.ended()) {
    AddMeasurements(ReadUsage(job.folder), job.job.view);
  }
  job.submitted_millis = SubmittedMillis(job.folder);
  Conclude(job);
  return job;
}

}  // namespace tony::history
