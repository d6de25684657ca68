// Finds the running and past jobs of this machine by their folders, and reads what happened in
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/record/observed_job.h"
#include "storage/job_folder.h"

namespace tony::client {

/// A job as its folder shows it. Plain data.
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

/// Reads `<local dir>/jobs`. Thread safe (immutable; everything is read anew by each call).
class JobStore {
 public:
  explicit JobStore(std::string local_dir) : local_dir_(std::move(local_dir)) {}

  /// All jobs, newest first; none when the folder does not exist.
  /// PermissionDenied, Unavailable – the folder cannot be read.
  absl::StatusOr<std::vector<StoredJob>> List() const;

  /// One job: by its id, by a unique prefix or suffix of it, or the newest for "latest" or "".
  /// NotFound – no such job; the message names the newest ones. InvalidArgument – several such
  /// jobs; the message names them.
  absl::StatusOr<StoredJob> Find(const std::string& wish) const;

  /// The job with exactly this id. NotFound – no such folder.
  absl::StatusOr<StoredJob> Read(const std::string& id) const;

 private:
  absl::StatusOr<std::vector<std::string>> Ids() const;

  std::string local_dir_;
};

}  // namespace tony::client
