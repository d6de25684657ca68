// Shows a running job as its events arrive: a live table, plain lines, JSON lines, or only the
// verdict.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "client/job_table.h"
#include "common/clock.h"
#include "core/job/job_event.h"

namespace tony::client {

/// Follows one job. Not thread safe: owned by the event loop.
class ProgressPrinter {
 public:
  virtual ~ProgressPrinter() = default;
  /// The next event of the job.
  virtual void OnEvent(const core::JobEvent& event) = 0;
  /// Whether OnMeasurement() is to be called.
  virtual bool shows_measurements() const { return false; }
  /// The newest measurement of a running task, which is no event.
  virtual void OnMeasurement(const core::JobEvent& /*measurement*/) {}
  /// Brings the screen up to date. Call it a few times a second, and after each batch of events;
  /// changes of many tasks between two calls are shown together.
  virtual void Refresh() = 0;
};

enum class ProgressStyle {
  kTable,  ///< redrawn in place; for a terminal
  kLines,  ///< a line for each change
  kQuiet,  ///< the verdict only
  kJson,   ///< each event, and the newest measurements, as one line of JSON
};

/// Writes to the user.
using Writer = std::function<void(const std::string&)>;
/// The screen as it is now: asked before each drawing, so that a resized window is noticed.
using ScreenSource = std::function<Screen()>;

/// `write` gets what has passed SafeLines() or SafeJson(), as it is to be written, with the escape
/// sequences that draw the table. `clock` must outlive the printer.
std::unique_ptr<ProgressPrinter> MakeProgressPrinter(ProgressStyle style, Writer write,
                                                     ScreenSource screen, const Clock& clock);

}  // namespace tony::client
