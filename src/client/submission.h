// Follows a submitted job to its end: events to the printer, Ctrl-C to the ApplicationMaster, and
// another ApplicationMaster when that is lost.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
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
  struct Options {
    backend::JobFolder folder;
    Duration start_deadline{0};  ///< for an ApplicationMaster's first answer, and its first event
    Duration stop_deadline{0};   ///< for it to note that the job is to be stopped
    Duration exit_deadline{0};   ///< for it to be gone after its last word
    int restarts = 0;            ///< how often one that was lost is replaced
  };

  /// `loop` and `printer` outlive this.
  Submission(EventLoop& loop, Options options, MasterProcess master, ProgressPrinter& printer);
  ~Submission();

  /// Returns when the job has ended and its ApplicationMaster is gone: the verdict.
  /// Unavailable – the ApplicationMaster went away without one, and so did those that replaced it;
  /// otherwise the code of what is missing in the job's folder.
  absl::StatusOr<core::Verdict> FollowToEnd();

 private:
  absl::Status Follow();
  void WatchMaster();
  void OnEvent(const core::JobEvent& event);
  void OnStreamClosed(const absl::Status& status);
  void OnNoAnswer();
  /// Takes in what was recorded and did not come through a stream.
  void CatchUp();
  void LeaveIfOver();
  void Restart();
  void OnSignal(int number);
  void SendStop();
  void Redraw();

  EventLoop& loop_;
  const Options options_;
  MasterProcess master_;
  ProgressPrinter& printer_;
  std::unique_ptr<rpc::JobClient> client_;
  std::optional<core::Verdict> verdict_;
  absl::Status stream_status_;
  int64_t last_sequence_ = 0;
  bool stream_over_ = false;
  bool master_over_ = false;
  int restarts_ = 0;
  int interrupts_ = 0;
  std::string stop_reason_;  ///< a wish that no ApplicationMaster has noted yet; empty: none
  std::unique_ptr<EventLoop::Handle> redraw_;
  std::unique_ptr<EventLoop::Handle> master_watch_;
  std::unique_ptr<EventLoop::Handle> answer_deadline_;
  std::unique_ptr<EventLoop::Handle> master_deadline_;
  std::unique_ptr<EventLoop::Handle> restart_;
};

}  // namespace tony::client
