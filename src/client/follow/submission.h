// Follows a submitted job to its end: events to the printer, Ctrl-C to the ApplicationMaster, and
// on with the next ApplicationMaster when one is lost.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/follow/master_source.h"
#include "client/show/progress_printer.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/record/verdict.h"
#include "rpc/services/job_client.h"

namespace tony::client {

/// Not thread safe: owned by the event loop, which it runs.
class Submission {
 public:
  struct Options {
    Duration answer_deadline{0};  ///< for an ApplicationMaster to take the stream
    Duration stop_deadline{0};    ///< for it to note that the job is to be stopped
    Duration read_deadline{0};    ///< for the events to be read that an ended job has recorded
  };

  /// All outlive this.
  Submission(EventLoop& loop, const Clock& clock, Options options, MasterSource& source,
             ProgressPrinter& printer);
  ~Submission();

  /// Returns when the job has ended and its ApplicationMaster is gone: the verdict. Otherwise what
  /// the source says of a job that has none; Cancelled – the user left before the end.
  absl::StatusOr<core::Verdict> FollowToEnd();
  /// To be called from the loop: nothing will be heard of the job any more, since this process can
  /// do no more; `why`. What was recorded of it by then still counts.
  void GiveUp(const absl::Status& why);

 private:
  void OnFound(std::unique_ptr<rpc::JobClient> client);
  void OnOpen();
  void OnEvent(const core::JobEvent& event);
  void OnStreamClosed(const absl::Status& status);
  void OnOver(const std::optional<core::Verdict>& verdict, const absl::Status& why);
  /// The events of a job that is over, until that succeeds or takes too long.
  void ReadRest();
  void EndWithoutEvents();
  void OnSignal(int number);
  void Leave();
  void SendStop();
  /// Tells the ApplicationMaster that is there, without waiting for its answer.
  void SendStopToMaster();
  void OnStopSent(const absl::Status& status);
  void Redraw();

  EventLoop& loop_;
  const Clock& clock_;
  const Options options_;
  MasterSource& source_;
  ProgressPrinter& printer_;
  std::unique_ptr<rpc::JobClient> client_;
  std::optional<core::Verdict> verdict_;
  std::optional<core::Verdict> backends_verdict_;  ///< of a job that is over
  absl::Status why_;                               ///< there is no verdict
  absl::Status stream_status_;
  int64_t last_sequence_ = 0;
  int interrupts_ = 0;
  bool over_ = false;
  std::string stop_reason_;     ///< a wish that nobody has noted yet; empty: none
  bool unheard_ = false;        ///< it was said that nobody has
  bool being_stopped_ = false;  ///< the job, by whatever wish: nobody has to be told any more
  int streams_ = 0;             ///< followed so far
  bool stopping_ = false;       ///< client_ was told, and has not answered yet
  int stops_ = 0;               ///< told so far; an answer to an earlier one means nothing
  std::unique_ptr<EventLoop::Handle> next_stop_;
  std::unique_ptr<EventLoop::Handle> redraw_;
  std::unique_ptr<EventLoop::Handle> answer_deadline_;
  std::unique_ptr<EventLoop::Handle> next_read_;
  std::unique_ptr<EventLoop::Handle> read_deadline_;
};

}  // namespace tony::client
