// The port through which the API reads a job's logs: in blocks, by pattern, merged, and its errors.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/model/task_id.h"
#include "core/record/job_view.h"
#include "logs/log_block.h"
#include "logs/log_merge.h"
#include "web/http/http_message.h"

namespace tony::web {

/// One log of a job. Plain data, and safe as part of a path: the API has found the task and the
/// attempt in the job.
struct LogName {
  core::TaskId task;   ///< not used for stream "am"
  int attempt = 0;     ///< from 1; 0 for "executor" and "am"
  std::string stream;  ///< "stdout", "stderr", "executor", "am"
};

/// How far a merge was read: to a place in the logs of a task, and to the same time in those of all
/// tasks before it by id, but not behind it.
struct MergeCursor {
  logs::MergePlace place;
  std::string task;  ///< "worker-1"; empty where the logs of all tasks are one
};

/// The lines that are wanted of several logs.
struct MergeWish {
  std::string task;  ///< "worker-1", "worker", "am"; empty: all tasks
  bool standard_output = true;
  bool standard_error = true;
  bool executor = false;
  int64_t since_millis = -1;          ///< -1: from the start
  std::optional<MergeCursor> cursor;  ///< MergedLines::next of the page before
  std::string match;                  ///< RE2; empty: all lines
  std::string level;                  ///< "info": this one and above; empty: all
  size_t limit = 500;
};

struct MergedLine {
  int64_t unix_millis = 0;  ///< 0: not known
  std::string task;
  int attempt = 0;
  std::string stream;
  std::string text;
};

struct MergedLines {
  std::vector<MergedLine> lines;
  MergeCursor next;
  bool more = false;               ///< there are more, or time was up
  bool empty = false;              ///< there is no log
  std::vector<std::string> notes;  ///< sentences about tasks whose lines are missing
};

/// An error, as a task printed it.
struct PrintedFailure {
  std::string task;
  int attempt = 0;
  std::string stream;
  int64_t line = 0;         ///< from 1
  int64_t unix_millis = 0;  ///< 0: not known
  std::vector<std::string> before;
  std::vector<std::string> lines;
  bool mention = false;  ///< it may be a harmless message
  int64_t offset = -1;   ///< of the first of `lines` in its log (logs::LogBytes); -1: not known
};

/// Why the job failed, or its newest attempt.
struct JobErrors {
  struct Failure {
    std::string sentence;
    std::optional<core::TaskId> guilty;
    int attempt = 0;
    std::optional<core::TaskExit> exit;
  };
  std::optional<Failure> failure;
  std::optional<PrintedFailure> own;
  bool printed = false;
  std::optional<PrintedFailure> after;
};

/// Whether a job's logs can be read. Plain data.
struct LogsState {
  bool here = true;
  std::string note;  ///< why not, or what is missing, as sentences; empty: nothing is to be said
};

/// A whole log, as it is now.
struct RawLog {
  int64_t bytes = 0;
  std::shared_ptr<BodySource> source;
};

/// Reads off the event loop, in a limited number of requests at a time. Each function answers once,
/// on the loop: NotFound – there is no such log (yet); InvalidArgument – a pattern or a task is
/// wrong; ResourceExhausted – too many requests are being worked on; Cancelled – `abandoned` became
/// true; any other code says why it cannot be read. Searches end after a second with what there is.
/// Not thread safe: owned by the event loop.
class JobLogs {
 public:
  template <typename Result>
  using Take = std::function<void(absl::StatusOr<Result>)>;
  using Abandoned = std::shared_ptr<const std::atomic<bool>>;

  virtual ~JobLogs() = default;
  virtual void ReadBlock(const LogName& name, int64_t offset, size_t limit, Abandoned abandoned,
                         Take<logs::LogBlock> take) = 0;
  virtual void Search(const LogName& name, const logs::LogSearch& search, Abandoned abandoned,
                      Take<logs::LogBlock> take) = 0;
  virtual void Merge(const core::JobView& view, const MergeWish& wish, Abandoned abandoned,
                     Take<MergedLines> take) = 0;
  virtual void FindErrors(const core::JobView& view, Abandoned abandoned, Take<JobErrors> take) = 0;
  virtual void OpenRaw(const LogName& name, Abandoned abandoned, Take<RawLog> take) = 0;
};

}  // namespace tony::web
