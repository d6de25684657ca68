// Prints a job's progress on a terminal, as a table that is redrawn in place.
#pragma once

#include <optional>

#include "client/show/progress_printer.h"
#include "client/show/redrawn_text.h"
#include "client/show/task_lines.h"
#include "common/clock.h"
#include "core/record/observed_job.h"

namespace tony::client {

/// Failures, new epochs and notes are printed above the table and stay there, because the table
/// itself shows only the current state. Not thread safe: owned by the event loop.
class TablePrinter : public ProgressPrinter {
 public:
  TablePrinter(Writer write, ScreenSource screen, const Clock& clock)
      : write_(write), screen_(std::move(screen)), clock_(clock), table_(std::move(write)) {}

  void OnEvent(const core::JobEvent& event) override;
  bool shows_measurements() const override { return true; }
  void OnMeasurement(const core::JobEvent& measurement) override;
  void Refresh() override;
  void Notice(const std::string& sentence) override;
  void OnStop(Duration grace) override;
  void Suspend() override;
  void Close() override;

 private:
  std::string Render(const Screen& screen);
  /// Draws the table. `leave`: the cursor stays below it, and it is never erased.
  void Draw(bool leave);
  Writer write_;
  ScreenSource screen_;
  const Clock& clock_;
  core::ObservedJob job_;
  TaskLines lines_;
  std::string lasting_;  // lines to print above the table at the next drawing
  RedrawnText table_;
  std::optional<Duration> grace_;  // of a job that the user wants to end
  bool over_ = false;              // the last table was drawn
};

}  // namespace tony::client
