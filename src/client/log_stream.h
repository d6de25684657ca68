// Prints a job's logs, and goes on as they grow.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "client/job_logs.h"
#include "client/line_tail.h"

namespace tony::client {

class JobWatch;

/// Takes each line of each log. A log's lines come in their order.
using LogLineUse = std::function<void(const LogFile& log, const std::string& line)>;

/// What to print of the logs.
struct LogStreamOptions {
  LogSelection selection;
  int64_t tail = -1;  ///< only that many last lines of each log that is there at the start; -1: all
};

/// Reads the logs of one job. Not thread safe.
class LogStream {
 public:
  LogStream(backend::JobFolder folder, LogStreamOptions options, LogLineUse use)
      : folder_(std::move(folder)), options_(std::move(options)), use_(std::move(use)) {}

  /// What is there now, each log to its end. Returns how many logs there are.
  size_t PrintAll();

  /// What is there now, then each new line, new attempts and rotated files included, until the job
  /// is over. The codes of FolderWatcher.
  absl::Status Follow();

 private:
  struct Open {
    LogFile log;
    LineTail tail;
  };

  /// Reads what is new in a log, or in all logs below a folder, which is watched from now on.
  absl::Status Visit(JobWatch& watch, const std::string& path);
  /// The log at `path`, opened if need be; null for what is no wanted log.
  Open* Find(const std::string& path);
  void Read(Open& open);

  backend::JobFolder folder_;
  LogStreamOptions options_;
  LogLineUse use_;
  std::map<std::string, Open> logs_;  // by path
  bool started_ = false;              // files that come from now on are new
};

}  // namespace tony::client
