// Removes the folders of jobs that ended long ago.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "client/jobs/seen_time.h"

namespace tony::client {

/// Removes jobs below `local_dir`, oldest first, whose folder has not changed for `days`. Left
/// alone are jobs whose client or ApplicationMaster lives, jobs that hold checkpoints (those are
/// work, not history), and all that is no job's folder (storage/job_proof.h). The
/// ApplicationMaster's locks are held meanwhile, so that none starts there. Ends after `most` jobs,
/// and before the next job once `stop` is set. What cannot be removed is left for the next time.
/// Returns how many jobs went. `now_unix_millis`: a time that has certainly come (seen_time.h).
/// Thread safe.
int RemoveOldJobs(const std::string& local_dir, int days, int64_t now_unix_millis, int most,
                  const std::atomic<bool>& stop);

/// RemoveRemainsOfLostJobs() and RemoveOldJobs() on a thread beside the submission of a new job,
/// which it does not delay: it ends with its destructor, after the job that it is removing. Not
/// thread safe.
class HistorySweep {
 public:
  /// `days` of 0 or less: no job is too old. `now`: of this submission.
  HistorySweep(std::string local_dir, int days, ClockReading now);
  ~HistorySweep();
  HistorySweep(const HistorySweep&) = delete;
  HistorySweep& operator=(const HistorySweep&) = delete;

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace tony::client
