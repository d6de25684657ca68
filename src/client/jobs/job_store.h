// Finds the jobs of this machine by their folders, running and past, and reads what happened in
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
  core::ObservedJob job;  ///< `lost` is set: neither alive nor ended; and what it waits for, in
                          ///< every other state than its last, although no event says so
  bool alive = false;     ///< its ApplicationMaster holds its lock
  int64_t submitted_millis = 0;  ///< of the first event, or else of the folder
  std::string sentence;          ///< why it is lost or cannot be read in full; else empty

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
  /// NotFound – none such, with the names of the newest ones. InvalidArgument – several such, with
  /// their names.
  absl::StatusOr<StoredJob> Find(const std::string& wish) const;

  /// The job with exactly this id. NotFound – no such folder.
  absl::StatusOr<StoredJob> Read(const std::string& id) const;

 private:
  absl::StatusOr<std::vector<std::string>> Ids() const;

  std::string local_dir_;
};

}  // namespace tony::client
