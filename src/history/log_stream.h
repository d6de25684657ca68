// Prints a job's logs merged by time, and goes on as they grow.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/logging.h"
#include "history/job_logs.h"
#include "logs/log_reader.h"

namespace tony::history {

class JobWatch;

/// Takes each line of each log. Lines of one log come in their order.
using LogLineUse = std::function<void(const LogFile& log, const logs::LogLine& line)>;

/// The part of the logs to print.
struct LogStreamOptions {
  LogSelection selection;
  int64_t tail = -1;   ///< only that many last lines of each log that exists at the start; -1: all
  int64_t since = -1;  ///< only lines of this time (Unix milliseconds) or later, and those whose
                       ///< time is not known; -1: all
  /// Of tony's own logs ("am" and "executor") only lines of this level and above, and what follows
  /// no form, such as the message of a crash. Programs' logs have no levels.
  std::optional<LogLevel> level;

  // For PrintAll():

  /// Asked before each line; true ends the printing. Null: everything is printed.
  std::function<bool()> enough;
  /// An incomplete last line is left out.
  bool complete_lines = false;

  // For Follow():

  /// At most so many bytes are behind: when more of all logs is unread, because the output is
  /// slower than the programs, lines are left out. -1: nothing is left out.
  int64_t most_unread = -1;
  /// Told of lines that are left out of `log`, in their place.
  std::function<void(const LogFile& log, const logs::LogReader::LeftOut& left_out)> on_left_out;
  /// Called when all lines that may be printed now were given out.
  std::function<void()> on_pause;
  /// When this descriptor is readable, following ends as if the job were over; -1: none.
  int end_fd = -1;
};

/// Reads the logs of one job and merges their lines by time; lines of one time keep the order of
/// FindLogs(). Holds in memory one line of each log and what was read with it. Not thread safe.
class LogStream {
 public:
  /// `clock` must outlive this.
  LogStream(storage::JobFolder folder, LogStreamOptions options, const Clock& clock, LogLineUse use)
      : folder_(std::move(folder)),
        options_(std::move(options)),
        clock_(clock),
        use_(std::move(use)) {}

  /// Prints what exists now, each log to its end. Returns how many logs there are.
  size_t PrintAll();

  /// Prints what exists now, then each new line, including those of new attempts and segments,
  /// until the job is over. A new line waits kOrderingPatience for older lines of other logs.
  /// The codes of FolderWatcher.
  absl::Status Follow();

  static constexpr std::chrono::milliseconds kOrderingPatience{50};

 private:
  struct Open {
    LogFile log;
    logs::LogReader reader;
    std::optional<logs::LogLine> head;  // line that was read and is not yet printed
    int64_t skipped = 0;                // lines of the level to leave out first
  };
  /// Whether options_.level has the line of this log.
  bool HasLevel(const LogFile& log, const logs::LogLine& line) const;
  /// How many lines of a log with levels come before its last `tail` ones of the wanted level.
  int64_t LinesBeforeTail(const LogFile& log) const;
  struct ByOrder {
    bool operator()(const Open* left, const Open* right) const;
  };

  /// Waits until something has changed below the folder, for `timeout` at most (negative: without
  /// limit).
  absl::Status NoteChanges(JobWatch& watch, std::chrono::milliseconds timeout);
  /// Notes the log `path`, or all logs below the folder `path`, for the next Merge(); the folder is
  /// watched from now on.
  absl::Status Visit(JobWatch& watch, const std::string& path);
  /// Notes that there may be something new in the log that `path` belongs to.
  void Touch(const std::string& path);
  /// Prints the noted logs' lines up to the time `horizon` (Unix milliseconds; -1: all lines); with
  /// `to_end` also their incomplete last lines. Logs with younger lines stay noted.
  void Merge(int64_t horizon, bool to_end);
  /// Merge(), after leaving out what is more than `most_unread`, and then the pause.
  void MergeInTime(int64_t horizon, bool to_end);
  /// Leaves out lines of the noted logs if they are too far behind.
  void LeaveOut();
  /// Whether following ends before the job does.
  bool EndsNow() const;
  /// Reads the next line that is to be printed; false when there is none.
  bool ReadHead(Open& open, bool to_end);

  storage::JobFolder folder_;
  LogStreamOptions options_;
  const Clock& clock_;
  LogLineUse use_;
  std::map<std::string, Open> logs_;  // by path
  std::set<Open*> noted_;             // logs that may have lines to print
  bool started_ = false;  // files that appear from now on are new, so `tail` does not apply to them
};

}  // namespace tony::history
