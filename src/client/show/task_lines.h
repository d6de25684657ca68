// The newest line that each running task has printed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/record/job_view.h"

namespace tony::client {

/// A line and when it was printed. Plain data.
struct TaskLine {
  core::TaskId task;
  std::string text;         ///< SafeText, not empty
  int64_t unix_millis = 0;  ///< when the task has last printed anything
};

/// Reads the ends of the tasks' logs, which lie on this machine; of a job whose tasks log on other
/// hosts there are no lines. Keeps nothing open, and holds a line of a few tasks. Not thread safe.
class TaskLines {
 public:
  /// The most tasks whose lines are read.
  static constexpr size_t kMostTasks = 8;

  /// The newest lines of running tasks, in the tasks' order: of the first task of each type, and of
  /// further ones up to kMostTasks. Tasks that have printed nothing are left out.
  std::vector<TaskLine> Read(const core::JobView& view);

 private:
  /// The part of a log that was read last.
  struct Seen {
    std::string path;
    off_t size = -1;
    TaskLine line;
  };

  std::map<core::TaskId, Seen> seen_;
};

}  // namespace tony::client
