// Keeps files that a user's jobs share in a cluster's file system, and removes the unused ones.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backend/yarn/yarn_cluster.h"
#include "common/clock.h"
#include "storage/job_files.h"

namespace tony::client {

/// Notes, to the day, that a job uses `name` (backend::CachedName) from now on. To be called before
/// the job looks whether the file exists. The note is a file of its own (the mark), because nodes
/// refuse a file whose time has changed. The codes of storage::JobFiles.
absl::Status MarkUsed(const std::string& name, storage::JobFiles& files, const Clock& clock);

/// Removes files that no job has used for `unused_for`, unless a living job of the user may have
/// them. A file that was last used long before all living jobs were submitted belongs to none of
/// them; others stay, because nodes may still fetch them. Also removes incomplete files that were
/// begun more than a day ago. `unused_for` of 0 or less: nothing is removed. `stop`: looked at
/// between two calls. Returns how many files were removed. Blocks. The codes of storage::JobFiles
/// and of backend::ApplicationClient::List.
absl::StatusOr<int> RemoveUnusedFromCache(const backend::YarnCluster& cluster, const Clock& clock,
                                          std::chrono::days unused_for,
                                          const std::stop_token& stop);

}  // namespace tony::client
