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

/// The selection of logs that are wanted.
struct LogSelection {
  std::string task;  ///< "worker:0", "worker" for all tasks of a type, "am"; empty: all tasks
  bool standard_output = true;
  bool standard_error = true;
  bool executor = false;  ///< tony-executor's own log
  int attempt = 0;        ///< only logs of this attempt; 0: of all attempts
  /// Besides the tasks' logs, where collected logs are copied: the ApplicationMaster's, and the
  /// stacks that were kept before a program was ended.
  bool and_master = false;
  bool stacks = false;

  /// The ApplicationMaster's log is wanted, and no other.
  bool of_master() const { return task == core::kMasterTaskType; }
  bool has_master() const { return of_master() || and_master; }
};

/// One log, of one or more files.
struct LogFile {
  std::string task;    ///< "worker:0" or "am"
  int attempt = 0;     ///< 0 for logs that do not belong to one attempt
  std::string stream;  ///< "stdout", "stderr", "executor", "am"
  std::string path;    ///< path of its first segment
};

/// The log that the file `path` belongs to, as the log itself or one of its segments, judged by its
/// place in the job's folder. Nothing when the file is no log or the log is not wanted.
std::optional<LogFile> RecognizeLog(const storage::JobFolder& folder, const LogSelection& selection,
                                    const std::string& path);

/// All wanted logs that exist, by type and index of the task, then attempt, then stdout before
/// stderr.
std::vector<LogFile> FindLogs(const storage::JobFolder& folder, const LogSelection& selection);

/// The order of FindLogs().
bool ComesBefore(const LogFile& left, const LogFile& right);

/// The spelling of `wish` that LogSelection::task wants ("worker-0" is understood too). NotFound –
/// the job has no such task; the message names those it has.
absl::StatusOr<std::string> ResolveTask(const core::JobView& view, const std::string& wish);

}  // namespace tony::history
