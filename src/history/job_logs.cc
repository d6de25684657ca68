// A log's place in the folder says everything about it (storage/job_folder.h), so no index of logs
// is needed, and a reader finds logs of tasks that the events do not name yet.
#include "history/job_logs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/model/task_path.h"
#include "logs/log_segments.h"

namespace tony::history {
namespace {

using core::kMasterTaskType;

/// The log whose path below the folder of logs consists of `parts`.
std::optional<LogFile> Classify(const std::vector<std::string>& parts) {
  if (parts.size() == 1 && parts[0] == "am.log")
    return LogFile{kMasterTaskType, 0, kMasterTaskType, ""};
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  const std::optional<core::TaskId> task = core::TaskFromPath(parts[0]);
  if (!task) return std::nullopt;
  LogFile log{task->ToString(), 0, "", ""};
  if (parts.size() == 2) {
    if (parts[1] != "executor.log") return std::nullopt;
    log.stream = "executor";
    return log;
  }
  if (!absl::StartsWith(parts[1], "attempt-") ||
      !absl::SimpleAtoi(parts[1].substr(8), &log.attempt)) {
    return std::nullopt;
  }
  if (parts[2] != "stdout.log" && parts[2] != "stderr.log") return std::nullopt;
  log.stream = parts[2].substr(0, 6);
  return log;
}

bool IsWanted(const LogFile& log, const LogSelection& selection) {
  if (selection.attempt > 0 && log.attempt != selection.attempt) return false;
  if (log.task == kMasterTaskType || selection.of_master()) return log.task == selection.task;
  const std::string type = log.task.substr(0, log.task.rfind(':'));
  if (!selection.task.empty() && log.task != selection.task && type != selection.task) return false;
  if (log.stream == "stdout") return selection.standard_output;
  if (log.stream == "stderr") return selection.standard_error;
  return selection.executor;
}

/// The sort key of a log; worker:10 sorts behind worker:9.
auto OrderOf(const LogFile& log) {
  const size_t colon = log.task.rfind(':');
  int index = 0;
  if (colon != std::string::npos && !absl::SimpleAtoi(log.task.substr(colon + 1), &index))
    index = 0;
  return std::make_tuple(log.task.substr(0, colon), index, log.attempt, log.stream == "stderr");
}

}  // namespace

std::optional<LogFile> RecognizeLog(const storage::JobFolder& folder, const LogSelection& selection,
                                    const std::string& path) {
  const std::string logs = absl::StrCat(folder.logs(), "/");
  const std::optional<logs::LogSegmentName> segment = logs::ParseLogSegment(path);
  if (!segment || !absl::StartsWith(segment->path, logs)) return std::nullopt;
  std::optional<LogFile> log = Classify(absl::StrSplit(segment->path.substr(logs.size()), '/'));
  if (!log || !IsWanted(*log, selection)) return std::nullopt;
  log->path = segment->path;
  return log;
}

std::vector<LogFile> FindLogs(const storage::JobFolder& folder, const LogSelection& selection) {
  std::vector<LogFile> found;
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(folder.logs(), error);
  while (!error && entry != std::filesystem::recursive_directory_iterator()) {
    const std::string path = entry->path().string();
    std::optional<LogFile> log = RecognizeLog(folder, selection, path);
    // Later segments belong to a log that is found by its first segment.
    if (log && log->path == path) found.push_back(*std::move(log));
    entry.increment(error);
  }
  std::sort(found.begin(), found.end(), ComesBefore);
  return found;
}

bool ComesBefore(const LogFile& left, const LogFile& right) {
  return OrderOf(left) < OrderOf(right);
}

absl::StatusOr<std::string> ResolveTask(const core::JobView& view, const std::string& wish) {
  if (wish == kMasterTaskType) return wish;
  std::vector<std::string> tasks;
  for (const core::JobView::Task& task : view.tasks) {
    const core::TaskId& id = task.last.task;
    const std::string name = id.ToString();
    if (wish == name || wish == id.ToPath()) return name;
    if (wish == core::TypeName(id.type)) return wish;
    // The program of a job without types is called main:0, and by its type, am:0.
    if (wish == absl::StrCat(id.type, ":", id.index)) return name;
    if (wish == absl::StrCat(core::TypeName(id.type), "-", id.index)) return name;
    if (tasks.size() < 10) tasks.push_back(name);
  }
  if (tasks.size() < view.tasks.size()) tasks.push_back("…");
  tasks.push_back(kMasterTaskType);
  return absl::NotFoundError(absl::StrCat("no task '", wish, "' in job ", view.job.job_id,
                                          "; its tasks: ", absl::StrJoin(tasks, ", ")));
}

}  // namespace tony::history
