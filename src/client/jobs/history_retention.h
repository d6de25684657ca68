// Removes the folders of jobs that ended long ago.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "client/jobs/seen_time.h"

namespace tony::client {

/// Removes jobs below `local_dir` whose folders have not changed for `days`, oldest first. Jobs
/// whose client or ApplicationMaster lives are left alone, and so are jobs that hold checkpoints
/// (checkpoints are work, not history) and everything that is no job's folder
/// (storage/job_proof.h). The ApplicationMaster's locks are held during the removal, so that no
/// ApplicationMaster starts there. Ends after `most` jobs, and before the next job once `stop` is
/// set. A job that cannot be removed is left for the next time. Returns how many jobs were removed.
/// `now_unix_millis`: a time that has certainly come (seen_time.h). Thread safe.
int RemoveOldJobs(const std::string& local_dir, int days, int64_t now_unix_millis, int most,
                  const std::atomic<bool>& stop);

/// Runs RemoveRemainsOfLostJobs() and RemoveOldJobs() on a thread beside the submission of a new
/// job, without delaying it. The destructor ends the thread after the job that is being removed.
/// Not thread safe.
class HistorySweep {
 public:
  /// `days` of 0 or less: no job is too old. `now`: the clocks at this submission.
  HistorySweep(std::string local_dir, int days, ClockReading now);
  ~HistorySweep();
  HistorySweep(const HistorySweep&) = delete;
  HistorySweep& operator=(const HistorySweep&) = delete;

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace tony::client
