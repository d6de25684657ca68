// Follows a submitted job to its end: events to the printer, Ctrl-C to the ApplicationMaster, and
// on with the next ApplicationMaster when one is lost.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/master_source.h"
#include "client/progress_printer.h"
#include "common/event_loop.h"
#include "core/job/verdict.h"
#include "rpc/job_client.h"

namespace tony::client {

/// Not thread safe: owned by the event loop, which it runs.
class Submission {
 public:
  struct Options {
    Duration answer_deadline{0};  ///< for an ApplicationMaster's first event
    Duration stop_deadline{0};    ///< for it to note that the job is to be stopped
  };

  /// All outlive this.
  Submission(EventLoop& loop, Options options, MasterSource& source, ProgressPrinter& printer);
  ~Submission();

  /// Returns when the job has ended and its ApplicationMaster is gone: the verdict. Otherwise what
  /// the source says of a job that has none.
  absl::StatusOr<core::Verdict> FollowToEnd();

 private:
  void OnFound(std::unique_ptr<rpc::JobClient> client);
  void OnEvent(const core::JobEvent& event);
  void OnStreamClosed(const absl::Status& status);
  void OnOver(const std::optional<core::Verdict>& verdict, const absl::Status& why);
  void OnSignal(int number);
  void SendStop();
  void Redraw();

  EventLoop& loop_;
  const Options options_;
  MasterSource& source_;
  ProgressPrinter& printer_;
  std::unique_ptr<rpc::JobClient> client_;
  std::optional<core::Verdict> verdict_;
  absl::Status why_;  ///< there is no verdict
  absl::Status stream_status_;
  int64_t last_sequence_ = 0;
  int interrupts_ = 0;
  std::string stop_reason_;  ///< a wish that no ApplicationMaster has noted yet; empty: none
  std::unique_ptr<EventLoop::Handle> redraw_;
  std::unique_ptr<EventLoop::Handle> answer_deadline_;
};

}  // namespace tony::client
