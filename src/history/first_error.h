// Finds out why a job failed: the guilty task, its error, and what others printed because of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "history/job_logs.h"
#include "logs/error_finder.h"
#include "storage/job_folder.h"

namespace tony::history {

/// An error and the log that it stands in.
struct FoundError {
  LogFile log;
  logs::PrintedError error;
};

/// Whether the error may be a harmless message, such as "train error: 0.3".
bool IsMention(const FoundError& found);

/// The failure that ended a job, or the newest attempt of a job that goes on. Plain data.
struct Failure {
  std::string sentence;  ///< of the verdict, or of the restart
  std::optional<core::TaskId> guilty;
  int attempt = 0;                     ///< attempt of the guilty task; 0: not known
  std::optional<core::TaskExit> exit;  ///< the guilty task's
};

/// Finds the newest failure in `view`, or in the job's events when the job has not ended. Nothing
/// when the job succeeded or no attempt has failed yet.
std::optional<Failure> FindFailure(const core::JobView& view, const storage::JobFolder& folder);

/// Finds the earliest error in the logs that `selection` means; real errors come before mentions of
/// errors. Of errors with the same time, the first in the order of FindLogs() is taken. Lines that
/// are known to be older than `since_millis` do not count. Times of hosts whose clocks were off are
/// put right by what the job's events tell of them.
std::optional<FoundError> FindFirstError(const storage::JobFolder& folder,
                                         const LogSelection& selection, int64_t since_millis = 0);

/// The errors that belong to a failure. Plain data.
struct FailureErrors {
  std::optional<FoundError> own;    ///< of the guilty run; without a guilty task, of all tasks
  bool printed = false;             ///< the guilty run has printed something
  std::optional<FoundError> after;  ///< of another task, after the failure
};

/// Searches `selection` for the errors of `failure`. An error of another task counts only from the
/// time of the guilty task's error or end. The search ends with what it has when `enough`, which
/// may be null, returns true.
FailureErrors FindErrorsOf(const Failure& failure, const storage::JobFolder& folder,
                           const LogSelection& selection,
                           const std::function<bool()>& enough = nullptr);

}  // namespace tony::history
