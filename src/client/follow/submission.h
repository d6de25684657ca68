// Follows a job to its end: prints its events, goes on with the next ApplicationMaster when one is
// lost, and passes Ctrl-C on to the ApplicationMaster if the job is this client's.
#pragma once

#include <functional>
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

/// The sentence in the log and the notes of a job whose terminal was closed.
inline constexpr char kHangupSentence[] =
    "the terminal of tony-submit was closed (SIGHUP), and the job goes on (tony.client.on-hangup); "
    "tony attach shows it, tony kill ends it";

/// The part of a followed job that only a step of a workflow has; the defaults are those of no
/// step. Plain data.
struct FollowedStep {
  bool is_step = false;
  /// Readable when the process that started this client is gone, which then leaves; -1: nobody
  /// looks.
  int parent_fd = -1;
  bool stops_with_parent = false;  ///< the job is stopped before that
  /// After the stop the client leaves so much later, even if the job has not ended.
  std::optional<Duration> stop_wait;
  /// Called from the loop once signals are heard. Null: nothing is to be done.
  std::function<void()> on_listening = nullptr;
};

/// One followed job. Not thread safe: owned by the event loop, which it runs.
class Submission {
 public:
  struct Options {
    Duration answer_deadline{0};  ///< for an ApplicationMaster to accept the stream
    Duration stop_deadline{0};  ///< for an ApplicationMaster to note that the job is to be stopped
    Duration read_deadline{0};  ///< for reading the events that an ended job has recorded
    Duration kill_grace{0};     ///< time between SIGTERM and SIGKILL for the job's programs
    /// The job is this client's: Ctrl-C stops it, and it ends when this client goes away. Otherwise
    /// Ctrl-C only ends the following.
    bool owner = true;
    /// For an owner: called at the first SIGHUP, when the terminal has been closed. This client
    /// then goes on following, and the job goes on, with a note. Null: SIGHUP stops the job, as
    /// Ctrl-C does.
    std::function<void()> on_hangup = nullptr;
    FollowedStep step;  ///< for an owner that is a step of a workflow
  };

  /// All arguments outlive this.
  Submission(EventLoop& loop, const Clock& clock, Options options, MasterSource& source,
             ProgressPrinter& printer);
  ~Submission();

  /// Runs the loop until the job has ended and its ApplicationMaster is gone; returns the verdict.
  /// Without a verdict: the status from the source; Cancelled – the user left before the end, and
  /// the message says what becomes of the job.
  absl::StatusOr<core::Verdict> FollowToEnd();
  /// To be called from the loop when this process can no longer receive anything from the job, for
  /// the reason `why`. FollowToEnd() then reads what the job has recorded so far, and returns.
  void GiveUp(const absl::Status& why);

 private:
  void OnFound(std::unique_ptr<rpc::JobClient> client);
  void OnOpen();
  void OnEvent(const core::JobEvent& event);
  void OnStreamClosed(const absl::Status& status);
  void OnOver(const std::optional<core::Verdict>& verdict, const absl::Status& why);
  /// Reads the recorded events of a job that is over; retries until that succeeds or takes too
  /// long.
  void ReadRest();
  void EndWithoutEvents();
  void OnSignal(int number);
  void OnParentGone();
  /// Stops the job, for this reason.
  void BeginStop(const std::string& reason);
  void OnHangup();
  /// Records the hang-up among the job's notes, as soon as an ApplicationMaster can be asked.
  void SendHangupNote();
  /// Ctrl-Z: what is printed is left in order before the process is stopped.
  void OnSuspend();
  void Leave();
  void SendStop();
  /// Sends the stop to the connected ApplicationMaster, without waiting for its answer.
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
  std::optional<core::Verdict> backends_verdict_;  ///< the backend's verdict of a job that is over
  absl::Status why_;                               ///< why there is no verdict
  absl::Status stream_status_;  ///< how the last stream ended; its message is added to `why_`
  int64_t last_sequence_ = 0;
  int interrupts_ = 0;
  std::optional<TimePoint> terminated_;  ///< when SIGTERM came last
  bool hung_up_ = false;                 ///< SIGHUP has come, and the job goes on
  bool unnoted_ = false;                 ///< no ApplicationMaster has recorded the hang-up yet
  bool open_ = false;                    ///< client_'s stream is accepted
  bool over_ = false;                    ///< no ApplicationMaster will send anything any more
  std::string stop_reason_;  ///< reason of a stop that no ApplicationMaster has noted yet; empty:
                             ///< none
  bool unheard_ = false;     ///< a notice has said that the stop could not be sent; it comes once
  bool being_stopped_ = false;  ///< the job is stopping, whoever asked for it: no stop has to be
                                ///< sent any more
  int streams_ = 0;             ///< number of streams opened so far
  bool stopping_ = false;       ///< a stop was sent to client_, which has not answered yet
  int stops_ = 0;  ///< number of stops sent so far; only the answer to the last one counts
  std::unique_ptr<EventLoop::Handle> next_stop_;
  std::unique_ptr<EventLoop::Handle> parent_;
  std::unique_ptr<EventLoop::Handle> stop_wait_;
  std::unique_ptr<EventLoop::Handle> redraw_;
  std::unique_ptr<EventLoop::Handle> answer_deadline_;
  std::unique_ptr<EventLoop::Handle> next_read_;
  std::unique_ptr<EventLoop::Handle> read_deadline_;
};

}  // namespace tony::client
