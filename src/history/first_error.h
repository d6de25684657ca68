// Finds the error that a job failed of, in its logs.
#pragma once

#include <optional>

#include "history/job_logs.h"
#include "logs/error_finder.h"
#include "storage/job_folder.h"

namespace tony::history {

/// An error and where it stands.
struct FoundError {
  LogFile log;
  logs::PrintedError error;
};

/// Which attempt of which task has failed the job, or the newest attempt of the whole job that was
/// given up: from the job's events. Nothing when nobody is guilty (yet).
struct GuiltyRun {
  core::TaskId task;
  int attempt = 0;  ///< 0: not known
};
std::optional<GuiltyRun> FindGuiltyRun(const storage::JobFolder& folder);

/// The first error, by time, in the logs that `selection` means; errors before mentions of errors.
/// Logs of one time are taken in the order of FindLogs().
std::optional<FoundError> FindFirstError(const storage::JobFolder& folder,
                                         const LogSelection& selection);

/// The first error of the guilty run, if it is known and has printed one, else that of all tasks.
std::optional<FoundError> FindFirstErrorOfJob(const storage::JobFolder& folder,
                                              LogSelection selection);

}  // namespace tony::history
