// Follows a submitted job to its end: events to the printer, Ctrl-C to the ApplicationMaster.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "backend/job_folder.h"
#include "client/master_process.h"
#include "client/progress_printer.h"
#include "common/event_loop.h"
#include "core/job/verdict.h"
#include "rpc/job_client.h"

namespace tony::client {

/// Not thread safe: owned by the event loop, which it runs.
class Submission {
 public:
  /// All arguments outlive this, and `loop` outlives `client`.
  Submission(EventLoop& loop, MasterProcess& master, rpc::JobClient& client,
             ProgressPrinter& printer);

  /// Returns when the job has ended and its ApplicationMaster is gone: the verdict.
  /// Unavailable – the ApplicationMaster went away without one.
  absl::StatusOr<core::Verdict> FollowToEnd();

 private:
  void OnEvent(const core::JobEvent& event);
  void OnStreamClosed(const absl::Status& status);
  void OnSignal(int number);
  void Redraw();
  void LeaveIfOver();

  EventLoop& loop_;
  MasterProcess& master_;
  rpc::JobClient& client_;
  ProgressPrinter& printer_;
  std::optional<core::Verdict> verdict_;
  absl::Status stream_status_;
  bool stream_over_ = false;
  bool master_over_ = false;
  int interrupts_ = 0;
  std::unique_ptr<EventLoop::Handle> redraw_;
  std::unique_ptr<EventLoop::Handle> master_watch_;
  std::unique_ptr<EventLoop::Handle> master_deadline_;
};

}  // namespace tony::client
