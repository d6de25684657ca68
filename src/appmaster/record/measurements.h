// The newest measurement of each running task: shown to followers, and kept in one small file.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/record/job_event.h"
#include "rpc/services/event_log.h"

namespace tony::appmaster {

/// A measurement is no event: each takes the place of the one before, in the log and in the file,
/// so that neither grows with time. Not thread safe: owned by the event loop.
class Measurements {
 public:
  /// Takes the lines of the newest measurements, as rpc::EventToJsonLine() writes them, in place of
  /// those that it took before.
  using Keep = std::function<absl::Status(const std::string& lines)>;

  /// Lines are kept `pause` after the first measurement that they have new. All outlive this.
  Measurements(EventLoop& loop, const Clock& clock, rpc::EventLog& log, Duration pause, Keep keep)
      : loop_(loop), clock_(clock), log_(log), pause_(pause), keep_(std::move(keep)) {}

  /// Shows it at once, and keeps it soon.
  void Take(const core::TaskMeasured& measured);

 private:
  void KeepAll();

  EventLoop& loop_;
  const Clock& clock_;
  rpc::EventLog& log_;
  const Duration pause_;
  const Keep keep_;
  bool said_loss_ = false;
  std::unique_ptr<EventLoop::Handle> timer_;  ///< while something is to be kept
};

}  // namespace tony::appmaster
