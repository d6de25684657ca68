// Finds the log files of a job's tasks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/model/master_task.h"
#include "core/record/job_view.h"
#include "storage/job_folder.h"

namespace tony::history {

/// Which logs are wanted.
struct LogSelection {
  std::string task;  ///< "worker:0", "worker" for all of a type, "am"; empty: all tasks
  bool standard_output = true;
  bool standard_error = true;
  bool executor = false;  ///< tony-executor's own log
  int attempt = 0;        ///< only logs of this attempt; 0: of all

  /// The ApplicationMaster's.
  bool of_master() const { return task == core::kMasterTaskType; }
};

/// One log, of one or more files.
struct LogFile {
  std::string task;    ///< "worker:0" or "am"
  int attempt = 0;     ///< 0 for logs that are not of one attempt
  std::string stream;  ///< "stdout", "stderr", "executor", "am"
  std::string path;    ///< of its first segment
};

/// What `path` is a log or a segment of a log of, from its place in the job's folder; nothing when
/// it is none or is not wanted.
std::optional<LogFile> RecognizeLog(const storage::JobFolder& folder, const LogSelection& selection,
                                    const std::string& path);

/// All wanted logs that are there, by type and index of the task, then attempt, then stdout before
/// stderr.
std::vector<LogFile> FindLogs(const storage::JobFolder& folder, const LogSelection& selection);

/// The order of FindLogs().
bool ComesBefore(const LogFile& left, const LogFile& right);

/// The spelling of `wish` that LogSelection::task wants ("worker-0" is understood too).
/// NotFound – the job has no such task; the message names those it has.
absl::StatusOr<std::string> ResolveTask(const core::JobView& view, const std::string& wish);

}  // namespace tony::history
