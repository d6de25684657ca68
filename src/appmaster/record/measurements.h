// Keeps the newest measurement of each running task: shows it to followers and writes it to one
// small file.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/model/task_id.h"
#include "core/record/job_event.h"
#include "rpc/services/event_log.h"

namespace tony::appmaster {

/// A measurement is not an event: it replaces the task's previous one, in the log and in the file,
/// so neither grows with time. Not thread safe: owned by the event loop.
class Measurements {
 public:
  /// The pause between two changes that followers hear of; each wakes all of them.
  static constexpr std::chrono::milliseconds kShowPause{250};

  /// Stores the lines of the newest measurements, in the form of rpc::EventToJsonLine(), in place
  /// of the lines stored before.
  using Keep = std::function<absl::Status(const std::string& lines)>;

  /// Lines are stored `pause` after the first new measurement. All arguments must outlive this
  /// object.
  Measurements(EventLoop& loop, const Clock& clock, rpc::EventLog& log, Duration pause, Keep keep)
      : loop_(loop), clock_(clock), log_(log), pause_(pause), keep_(std::move(keep)) {}

  /// Shows the measurement at once, or, when many come, within kShowPause; stores it soon.
  void Take(const core::TaskMeasured& measured);
  /// Shows all that were taken. To be called before the end of a task's run is recorded, so that no
  /// measurement of the run follows its end.
  void ShowAll();

 private:
  void KeepAll();

  EventLoop& loop_;
  const Clock& clock_;
  rpc::EventLog& log_;
  const Duration pause_;
  const Keep keep_;
  std::map<core::TaskId, core::JobEvent> taken_;   ///< the newest of each task, not shown yet
  std::unique_ptr<EventLoop::Handle> show_timer_;  ///< set while a pause lasts
  bool said_loss_ = false;
  std::unique_ptr<EventLoop::Handle> timer_;  ///< set while a new measurement waits to be stored
};

}  // namespace tony::appmaster
