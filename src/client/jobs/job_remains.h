// Removes transient files of jobs that have no ApplicationMaster and will get none.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/job_folder.h"

namespace tony::client {

/// Whether processes of the job, such as executors without an ApplicationMaster, hold its share of
/// this machine. None do if the job's ledger does not exist any more. The codes of backend::Ledger.
absl::StatusOr<bool> HoldsShare(const storage::JobFolder& folder, const std::string& job_id);

/// Removes secrets, archives and working folders of a job of which no process lives. Its history
/// and its output stay. Returns the first error, with the codes of os::RemoveTree(); the rest is
/// removed all the same.
absl::Status RemoveRemains(const storage::JobFolder& folder);

/// Runs RemoveRemains() for all jobs below `local_dir` whose processes were all killed at once, or
/// whose client was killed before there was an ApplicationMaster. Jobs whose ApplicationMaster,
/// client or executors live are left alone. The ApplicationMaster's locks are held during the
/// removal, so that no ApplicationMaster starts there. A file that cannot be removed is left for
/// the next time. Returns how many jobs had remains. Only folders that prove to be jobs' are
/// touched (storage/job_proof.h). Thread safe.
int RemoveRemainsOfLostJobs(const std::string& local_dir);

/// Removes what clients that were killed before they submitted their jobs left in
/// storage::StagingFolder(), keys included. The same care as above; returns how many jobs there
/// were.
int RemoveLostStaging(const std::string& staging);

}  // namespace tony::client
