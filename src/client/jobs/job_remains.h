// Removes what only a job's ApplicationMaster would have removed, of jobs that have none and will
// have none.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "storage/job_folder.h"

namespace tony::client {

/// Secrets, archives and working folders of a job of which no process lives: what it was and what
/// it printed stays. The first error of the file system; the rest is removed all the same.
absl::Status RemoveRemains(const storage::JobFolder& folder);

/// RemoveRemains() of all jobs below `local_dir` of which everything was killed at once, or whose
/// client was killed before they had an ApplicationMaster. Left alone are jobs whose
/// ApplicationMaster, client or executors live; the ApplicationMaster's locks are held meanwhile,
/// so that none starts there. What cannot be removed is left for the next time. Returns how many
/// jobs had remains. Nothing is touched but folders that prove to be jobs' (storage/job_proof.h).
/// Thread safe.
int RemoveRemainsOfLostJobs(const std::string& local_dir);

/// Removes what is left in backend::StagingFolder(), keys among it, of jobs whose client was killed
/// before they were submitted. As above; returns how many there were.
int RemoveLostStaging(const std::string& staging);

}  // namespace tony::client
