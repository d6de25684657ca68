// A job as its folder on this machine shows it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "core/record/observed_job.h"
#include "storage/job_folder.h"

namespace tony::history {

/// Plain data.
struct StoredJob {
  std::string id;
  storage::JobFolder folder{""};
  core::ObservedJob job;  ///< `lost` is set when the job is neither alive nor ended. `waiting` is
                          ///< filled in for every state but the last, even when no event says so
  bool alive = false;  ///< an ApplicationMaster holds the folder's lock, or a process is there to
                       ///< start one
  int64_t submitted_millis = 0;  ///< time of the first event, or else of the folder
  std::string sentence;  ///< why the job is lost, unreadable or not read in full; else empty

  bool ended() const { return job.view.verdict.has_value(); }
};

/// The newest measurements in the job's folder (JobFolder::usage()), which belong to a job that has
/// not ended; empty: there are none. Thread safe.
std::string ReadUsage(const storage::JobFolder& folder);

/// When the job was submitted: the time of its first event, or else of its folder. Thread safe.
int64_t SubmittedMillis(const storage::JobFolder& folder);

/// The job whose folder is `folder`. `use`, which may be null, also gets each event that can be
/// read. NotFound – there is no such folder. Thread safe.
absl::StatusOr<StoredJob> ReadStoredJob(
    const storage::JobFolder& folder, const std::string& id,
    const std::function<void(const core::JobEvent&)>& use = nullptr);

/// Takes one line of the history into `job`: its event, or why line `number` has none. Returns
/// whether to go on: false for the history of a newer version.
bool TakeLine(int number, const absl::StatusOr<core::JobEvent>& event, StoredJob& job);

/// Sets what depends on the whole history and on `job.alive`: whether the job is lost and why, and
/// what it waits for.
void Conclude(StoredJob& job);

}  // namespace tony::history
