// Finds the running and past jobs of this machine by their folders, and reads what happened in
// them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "history/stored_job.h"

namespace tony::client {

using history::StoredJob;

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
