// What a user's jobs keep for each other in a cluster's file system, and when it is removed.
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

/// Notes, to the day, that a job uses `name` (backend::CachedName) from now on: to be called before
/// it is looked whether it is there. A file of its own says it, since nodes refuse a file whose
/// time has changed. The codes of backend::JobFiles.
absl::Status MarkUsed(const std::string& name, storage::JobFiles& files, const Clock& clock);

/// Removes what no job has used for `unused_for`, and none of the user's that still live can have:
/// it was used last long before they were submitted, and their nodes may still fetch what they
/// have; and what was begun more than a day ago and is not whole yet. 0 and less: nothing. `stop`:
/// looked at between two calls. Returns how many files were removed. Blocks. The codes of
/// backend::JobFiles and of backend::ApplicationClient::List.
absl::StatusOr<int> RemoveUnusedFromCache(const backend::YarnCluster& cluster, const Clock& clock,
                                          std::chrono::days unused_for,
                                          const std::stop_token& stop);

}  // namespace tony::client
