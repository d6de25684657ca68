// Prints a job's progress on a terminal, as a table that is redrawn in place.
#pragma once

#include <optional>

#include "client/show/progress_printer.h"
#include "client/show/task_lines.h"
#include "common/clock.h"
#include "core/record/observed_job.h"

namespace tony::client {

/// The cursor rests on the table's first line, so that the next table is drawn from there whatever
/// has become of the lines below: the window was made narrower and wraps them, Ctrl-C was echoed,
/// or they have scrolled. Failures, new epochs and notes are printed above the table and stay
/// there, because the table itself shows only the current state. Not thread safe: owned by the
/// event loop.
class TablePrinter : public ProgressPrinter {
 public:
  TablePrinter(Writer write, ScreenSource screen, const Clock& clock)
      : write_(std::move(write)), screen_(std::move(screen)), clock_(clock) {}

  void OnEvent(const core::JobEvent& event) override;
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
  std::string drawn_;    // the table on the screen; empty: none that could be erased
  Screen drawn_on_;
  std::optional<Duration> grace_;  // of a job that the user wants to end
  bool over_ = false;              // the last table was drawn
};

}  // namespace tony::client
