// Prints a job's progress for logs and pipes, one line for each change.
#pragma once

#include <map>

#include "client/show/progress_printer.h"
#include "common/clock.h"
#include "core/record/job_view.h"

namespace tony::client {

/// Prints the lines of DescribeJobChange() at once, and changes of tasks in groups: at each
/// Refresh(), and before any other line. A wait is printed when it has lasted a second, and again
/// when it changes, at most every five seconds. Not thread safe: owned by the event loop.
class LinePrinter : public ProgressPrinter {
 public:
  LinePrinter(Writer write, ScreenSource screen, const Clock& clock)
      : write_(std::move(write)), screen_(std::move(screen)), clock_(clock) {}

  void OnEvent(const core::JobEvent& event) override;
  void Refresh() override;

 private:
  /// Whether the event says nothing new: a restarted ApplicationMaster repeats what its executors
  /// tell it.
  bool IsRepeated(const core::JobEvent& event) const;
  /// Prints the groups of tasks that changed since the last time.
  void FlushTasks();
  void PrintWaiting();

  Writer write_;
  ScreenSource screen_;
  const Clock& clock_;
  core::JobView view_;
  std::map<core::TaskId, core::TaskChanged> changed_;  // changes since the last flush
  std::string failures_;  // descriptions of failures since the last flush
  std::optional<core::JobWaiting> printed_waiting_;
  TimePoint waiting_since_{};
  TimePoint waiting_printed_at_{};
};

}  // namespace tony::client
