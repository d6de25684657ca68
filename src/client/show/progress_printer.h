// Interface that shows a running job as its events arrive.
#pragma once

#include <functional>
#include <string>

#include "client/cli/screen.h"
#include "core/record/job_event.h"

namespace tony::client {

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
  /// Prints what comes last. To be called once, when no further event will come and others may
  /// print again.
  virtual void Close() {}
};

/// Writes to the user.
using Writer = std::function<void(const std::string&)>;
/// The screen as it is now; asked before each drawing, so that a resized window is noticed.
using ScreenSource = std::function<Screen()>;

}  // namespace tony::client
