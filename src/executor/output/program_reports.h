// What a program reports of itself: the newest values, and its progress.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/clock.h"
#include "core/tasks/progress_tracker.h"
#include "executor/output/reported_values.h"

namespace tony::executor {

/// The reports of one run, from both ways: lines written to its pipe, and what is found in its log.
/// Not thread safe: owned by the event loop.
class ProgramReports {
 public:
  /// `on_defect` receives a sentence about the first line that cannot be read; further ones are
  /// only counted. `clock` must outlive this.
  ProgramReports(const Clock& clock, std::function<void(const std::string&)> on_defect)
      : clock_(clock), on_defect_(std::move(on_defect)) {}

  /// Adds bytes from the pipe, in any pieces.
  void AddBytes(const char* data, size_t size);
  /// Bytes of the pipe were left out here: the unfinished line is given up, and reading goes on
  /// with the next one.
  void SkipLine();
  /// What AddMatch() adds from now on was printed at this time.
  void Arrive();
  /// Takes what tony.task.progress-pattern has found in `line` of the log.
  void AddMatch(const core::ReportLine& found, absl::string_view line);

  /// The last value of each name.
  const std::map<std::string, std::string>& values() const { return values_.values(); }
  /// Nothing if nothing was reported.
  std::optional<core::Progress> progress() const;

 private:
  void EndLine();
  void NoteDefect(const char* where, absl::string_view defect, absl::string_view line);

  const Clock& clock_;
  const std::function<void(const std::string&)> on_defect_;
  ReportedValues values_;
  core::ProgressTracker tracker_;
  std::string line_;    ///< the unfinished line
  bool skips_ = false;  ///< the unfinished line is not read
  int64_t unread_ = 0;  ///< lines with a defect
  TimePoint now_;       ///< when the lines arrived that are being added
};

}  // namespace tony::executor
