// Prints a job's progress on a terminal, as a table that is redrawn in place.
#pragma once

#include "client/show/progress_printer.h"
#include "client/show/task_lines.h"
#include "common/clock.h"
#include "core/record/observed_job.h"

namespace tony::client {

/// Failures, new epochs and notes are printed above the table and stay there, because the table
/// itself shows only the current state. Not thread safe: owned by the event loop.
class TablePrinter : public ProgressPrinter {
 public:
  TablePrinter(Writer write, ScreenSource screen, const Clock& clock)
      : write_(std::move(write)), screen_(std::move(screen)), clock_(clock) {}

  void OnEvent(const core::JobEvent& event) override;
  void Refresh() override;

 private:
  Writer write_;
  ScreenSource screen_;
  const Clock& clock_;
  core::ObservedJob job_;
  TaskLines lines_;
  std::string lasting_;  // lines to print above the table at the next drawing
  std::string drawn_;    // the table on the screen
  bool over_ = false;    // the last table was drawn
};

}  // namespace tony::client
