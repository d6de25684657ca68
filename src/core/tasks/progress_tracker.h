// Follows a program's steps by the lines that it reports.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "common/clock.h"
#include "core/tasks/report_line.h"
#include "core/tasks/task_usage.h"

namespace tony::core {

/// Makes Progress out of the lines of one run of a program. Its memory is bounded, whatever the
/// program reports. Not thread safe.
///
/// `step` is the newest step, `phase` says what the program does in place of training until the
/// next `phase=`, `checkpoint` names a checkpoint that is complete, perhaps with
/// `checkpoint_seconds`. Every other number counts as a value.
///
/// Steps, as they are counted:
///  1. Lines that arrive at the same time are one report: the executor reads several at once.
///  2. A higher step makes a gap: the time since the step before, without the time in phases, and
///     how many steps lie between. The newest kMostGaps gaps are kept.
///  3. A lower step is ignored at first, as several processes of a task may report and one is
///     ahead. The third lower one in a row counts: the program has begun to count anew, or the
///     process that was ahead is gone. That makes no gap.
class ProgressTracker {
 public:
  static constexpr size_t kMostValues = 16;
  static constexpr size_t kMostGaps = 200;
  static constexpr size_t kMostPhases = 8;
  static constexpr int kLowerSteps = 3;
  /// The rate is that of the newest gaps, which together have lasted so long at least.
  static constexpr double kRateSeconds = 10;

  /// Takes a line that arrived at `now`. Returns the pair that it cannot use, "step=two"; empty:
  /// none.
  std::string Take(const ReportLine& line, TimePoint now);
  /// The progress as of `now`, not dated yet; nothing before the first pair that was used.
  std::optional<Progress> At(TimePoint now) const;

 private:
  struct Gap {
    double seconds = 0;
    int64_t steps = 0;
  };

  bool TakeStep(absl::string_view text, TimePoint now);
  void TakePhase(absl::string_view text, TimePoint now);
  void TakeCheckpoint(const ReportLine& line, absl::string_view path, TimePoint now);
  void TakeValue(const ReportPair& pair);
  void AddGap(int64_t steps, TimePoint now);
  /// Time spent in phases since the newest gap, the present phase included.
  Duration InPhases(TimePoint now) const;

  bool used_ = false;
  Progress progress_;  ///< what does not depend on the time of asking
  std::deque<Gap> gaps_;
  TimePoint first_step_at_;   ///< when the first step arrived
  TimePoint checkpoint_at_;   ///< when the newest checkpoint was named
  TimePoint gap_began_;       ///< when the newest step arrived
  TimePoint named_at_;        ///< when a step arrived that differs from the one before
  int64_t last_named_ = -1;   ///< that step
  int lower_ = 0;             ///< lower steps in a row
  Duration in_phases_{0};     ///< in phases that are over, since gap_began_
  TimePoint phase_began_;     ///< of the present phase
  Duration newest_phase_{0};  ///< length of the phase that ended last
  std::map<std::string, double> longest_phases_;  ///< seconds, by phase
};

}  // namespace tony::core
