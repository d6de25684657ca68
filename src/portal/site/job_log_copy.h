// The logs of one job of a cluster, as its page in the portal has them.
#pragma once

#include <chrono>

#include "common/clock.h"
#include "portal/index/job_index.h"
#include "portal/site/log_copies.h"
#include "storage/job_folder.h"
#include "web/api/job_logs.h"

namespace tony::portal {

/// Asks for a copy of the logs when somebody wants to read them and the job is over, and again as
/// long as something is missing and Tick() is called. Not thread safe: owned by the event loop.
class JobLogCopy {
 public:
  static constexpr std::chrono::minutes kNotePause{1};

  /// The references must outlive this. `folder`: the copy of the job's records.
  JobLogCopy(LogCopies& copies, const Clock& clock, JobKey key, storage::JobFolder folder);

  /// Somebody wants to read the logs.
  void Want();
  /// To be called every second: asks for what is missing, and notes that the logs are in use.
  void Tick();
  /// Whether logs are here, and what is to be said about it.
  web::LogsState state() const;

 private:
  LogCopies& copies_;
  const Clock& clock_;
  const JobKey key_;
  const storage::JobFolder folder_;
  bool wanted_ = false;
  TimePoint next_note_{};
};

}  // namespace tony::portal
