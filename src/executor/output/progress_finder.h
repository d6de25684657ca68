// Finds a program's progress in what it prints (tony.task.progress-pattern).
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/event_loop.h"
#include "core/tasks/report_line.h"
#include "executor/output/program_reports.h"

namespace re2 {
class RE2;
}

namespace tony::executor {

/// Matches the pattern (RE2) with each line of both output streams; what its named groups have
/// matched counts as a report of those names. A carriage return ends a line, too, as progress bars
/// write it. Only the first 4,096 bytes of a line are looked at.
///
/// The cost is bounded: lines are looked at every 20 ms, and only the newest 64 KiB that a stream
/// has printed meanwhile. Not thread safe: owned by the loop.
class ProgressFinder {
 public:
  static constexpr size_t kMostLineBytes = 4096;
  static constexpr size_t kMostWaiting = 65536;

  /// `loop` and `reports` outlive this. InvalidArgument – RE2 does not accept the pattern, or it
  /// has no named group.
  static absl::StatusOr<std::unique_ptr<ProgressFinder>> Create(EventLoop& loop,
                                                                const std::string& pattern,
                                                                ProgramReports& reports);
  ~ProgressFinder();

  /// Adds output of `stream` (0: standard output, 1: standard error), in any pieces.
  void Add(int stream, const char* data, size_t size);
  /// Looks at all that waits, also at an unfinished line: the program has ended.
  void Finish();

 private:
  struct Stream {
    std::string waiting;  ///< lines that were not looked at yet
    bool skips = false;   ///< `waiting` begins within a line that is not looked at
  };

  ProgressFinder(EventLoop& loop, std::unique_ptr<re2::RE2> pattern, ProgramReports& reports);
  void LookAtAll();
  void LookAt(absl::string_view line);

  EventLoop& loop_;
  const std::unique_ptr<re2::RE2> pattern_;
  ProgramReports& reports_;
  std::vector<std::pair<std::string, int>> groups_;  ///< names and numbers of the named groups
  std::array<Stream, 2> streams_;
  std::unique_ptr<EventLoop::Handle> timer_;  ///< set while something waits
};

}  // namespace tony::executor
