// Finds the error in a job's logs that made the job fail.
#pragma once

#include <optional>

#include "history/job_logs.h"
#include "logs/error_finder.h"
#include "storage/job_folder.h"

namespace tony::history {

/// An error and the log that it stands in.
struct FoundError {
  LogFile log;
  logs::PrintedError error;
};

/// The attempt of the task that failed the job, or that failed the newest attempt of the whole job
/// that was given up. FindGuiltyRun() reads it from the job's events; nothing when no task is
/// guilty (yet).
struct GuiltyRun {
  core::TaskId task;
  int attempt = 0;  ///< 0: not known
};
std::optional<GuiltyRun> FindGuiltyRun(const storage::JobFolder& folder);

/// Finds the earliest error in the logs that `selection` means; real errors come before mentions of
/// errors. Of errors with the same time, the first in the order of FindLogs() is taken.
std::optional<FoundError> FindFirstError(const storage::JobFolder& folder,
                                         const LogSelection& selection);

/// Finds the first error of the guilty run, if that is known and has printed one, else the first
/// error of all tasks.
std::optional<FoundError> FindFirstErrorOfJob(const storage::JobFolder& folder,
                                              LogSelection selection);

}  // namespace tony::history
