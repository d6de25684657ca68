// Interface that shows a running job as its events arrive.
#pragma once

#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/screen.h"
#include "client/cli/terminal.h"
#include "common/clock.h"
#include "core/record/job_event.h"

namespace tony::client {

/// The end of what a user is told who has pressed Ctrl-C once.
inline constexpr char kHowToLeave[] = "Ctrl-C again: leave the terminal, the job ends by itself";

/// Shows one job. Not thread safe: owned by the event loop.
class ProgressPrinter {
 public:
  virtual ~ProgressPrinter() = default;
  /// Takes the next event of the job.
  virtual void OnEvent(const core::JobEvent& event) = 0;
  /// Whether OnMeasurement() is to be called.
  virtual bool shows_measurements() const { return false; }
  /// Takes the newest measurement of a running task, which is no event.
  virtual void OnMeasurement(const core::JobEvent& /*measurement*/) {}
  /// Brings the screen up to date. To be called a few times a second, and after each batch of
  /// events; changes of many tasks between two calls are shown together.
  virtual void Refresh() = 0;
  /// Prints a sentence about how the job is followed, which is no event, on standard error.
  virtual void Notice(const std::string& sentence) { PrintNotice(sentence); }
  /// The user wants the job to end, whose programs get `grace` after SIGTERM. Says so, and how to
  /// leave at once.
  virtual void OnStop(Duration /*grace*/) { Notice(absl::StrCat("Stopping; ", kHowToLeave)); }
  /// The process is about to be stopped (Ctrl-Z), and others will print.
  virtual void Suspend() {}
  /// Prints what comes last. To be called when no further event will come, or nobody sees what is
  /// shown; others may print again.
  virtual void Close() {}
};

/// Writes to the user.
using Writer = std::function<void(const std::string&)>;
/// The screen as it is now; asked before each drawing, so that a resized window is noticed.
using ScreenSource = std::function<Screen()>;

}  // namespace tony::client
