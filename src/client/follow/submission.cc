// One loop handles four sources of events: the stream, the source of ApplicationMasters, signals
// and timers. gRPC's callbacks only post to it. Streams and stops are numbered, so that answers
// from an earlier ApplicationMaster are recognized and dropped.
#include "client/follow/submission.h"

#include <signal.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tony::client {
namespace {

constexpr std::chrono::milliseconds kRedrawInterval{200};
/// Pause between two attempts to read the recorded events.
constexpr std::chrono::milliseconds kReadPause{500};
/// Pause between two attempts to send the stop.
constexpr std::chrono::seconds kStopPause{1};
/// SIGTERMs that follow each other this closely count as one.
constexpr std::chrono::seconds kOneTermination{5};

}  // namespace

Submission::Submission(EventLoop& loop, const Clock& clock, Options options, MasterSource& source,
                       ProgressPrinter& printer)
    : loop_(loop), clock_(clock), options_(options), source_(source), printer_(printer) {}

Submission::~Submission() = default;

absl::StatusOr<core::Verdict> Submission::FollowToEnd() {
  auto signals =
      loop_.WatchSignals({SIGINT, SIGTERM, SIGHUP}, [this](int number) { OnSignal(number); });
  auto suspensions = loop_.WatchSignals({SIGTSTP}, [this](int) { OnSuspend(); });
  source_.Start({[this](std::unique_ptr<rpc::JobClient> client) { OnFound(std::move(client)); },
                 [this](const auto& verdict, const absl::Status& why) { OnOver(verdict, why); },
                 [this](const std::string& sentence) { printer_.Notice(sentence); }});
  if (options_.step.parent_fd >= 0) {
    parent_ = loop_.WatchReadable(options_.step.parent_fd, [this] { OnParentGone(); });
  }
  if (options_.step.on_listening) loop_.Post(options_.step.on_listening);
  Redraw();
  loop_.Run();
  redraw_.reset();
  printer_.Refresh();
  if (verdict_) return *verdict_;
  if (stream_status_.ok()) return why_;
  return Annotate(why_, std::string(stream_status_.message()));
}

void Submission::OnFound(std::unique_ptr<rpc::JobClient> client) {
  client_ = std::move(client);
  answer_deadline_ = loop_.After(options_.answer_deadline, [this] { source_.OnNoAnswer(); });
  // ~JobClient() waits for the stream, whose callbacks may therefore still come while this object
  // is being destroyed. So they only post to the loop, which runs nothing after FollowToEnd().
  rpc::JobClient::FollowCallbacks callbacks;
  callbacks.on_event = [this, &loop = loop_](core::JobEvent event) {
    loop.Post([this, event = std::move(event)] { OnEvent(event); });
  };
  callbacks.on_closed = [this, &loop = loop_, number = ++streams_](absl::Status status) {
    loop.Post([this, number, status] {
      if (number == streams_) OnStreamClosed(status);  // the end of an earlier stream is ignored
    });
  };
  callbacks.on_open = [this, &loop = loop_] { loop.Post([this] { OnOpen(); }); };
  if (printer_.shows_measurements()) {
    callbacks.on_measurement = [this, &loop = loop_](core::JobEvent measurement) {
      loop.Post(
          [this, measurement = std::move(measurement)] { printer_.OnMeasurement(measurement); });
    };
  }
  client_->Follow(last_sequence_, options_.owner, std::move(callbacks));
  if (!stop_reason_.empty()) SendStop();
}

void Submission::OnOpen() {
  answer_deadline_.reset();
  open_ = true;
  source_.OnAnswer();
  SendHangupNote();
}

void Submission::OnEvent(const core::JobEvent& event) {
  last_sequence_ = event.sequence;
  printer_.OnEvent(event);
  const auto* change = std::get_if<core::JobStateChanged>(&event.body);
  if (change != nullptr && change->state == core::JobState::kStopping) {
    // The stop is in the journal now. This event may come before the answer to the stop request.
    being_stopped_ = true;
    stop_reason_.clear();
  }
  const auto* ended = std::get_if<core::JobEnded>(&event.body);
  if (ended == nullptr) return;
  verdict_ = ended->verdict;
  if (!over_) source_.OnConcluded();
}

void Submission::OnStreamClosed(const absl::Status& status) {
  stream_status_ = status;
  answer_deadline_.reset();
  client_.reset();
  open_ = false;
  // The client is gone, and with it the answer to a stop that it has sent; so the stop is sent
  // again later.
  if (std::exchange(stopping_, false)) OnStopSent(status);
  source_.OnStreamClosed(status);
}

void Submission::OnOver(const std::optional<core::Verdict>& verdict, const absl::Status& why) {
  over_ = true;
  next_stop_.reset();
  backends_verdict_ = verdict;
  why_ = why;
  if (verdict_) return loop_.Stop();
  ReadRest();
}

void Submission::GiveUp(const absl::Status& why) {
  if (!over_) OnOver(std::nullopt, why);
}

void Submission::ReadRest() {
  const absl::Status read =
      source_.ReadEvents([this](int, const absl::StatusOr<core::JobEvent>& event) {
        // An ApplicationMaster whose disk is full sends events that it cannot record. If it is
        // lost, its successor counts on from the last recorded event and gives the same numbers to
        // other events. So the verdict counts whatever its number is.
        const bool news = event.ok() && (event->sequence > last_sequence_ ||
                                         std::holds_alternative<core::JobEnded>(event->body));
        if (!news) return true;
        core::JobEvent told = *event;
        // The printers skip sequence numbers that they have seen, so the verdict gets a new one.
        if (told.sequence <= last_sequence_) told.sequence = last_sequence_ + 1;
        OnEvent(told);
        return true;
      });
  if (verdict_) return loop_.Stop();
  if (read.ok()) return EndWithoutEvents();
  if (read_deadline_ == nullptr) {
    printer_.Notice(
        absl::StrCat("the job is over, but what it has recorded cannot be read now; trying again "
                     "for ",
                     options_.read_deadline / std::chrono::seconds(1),
                     " s (tony.client.am-exit-timeout-ms): ", std::string(read.message())));
    read_deadline_ = loop_.After(options_.read_deadline, [this] { EndWithoutEvents(); });
  }
  next_read_ = loop_.After(kReadPause, [this] { ReadRest(); });
}

void Submission::EndWithoutEvents() {
  read_deadline_.reset();
  next_read_.reset();
  if (backends_verdict_) {
    // The printer gets the backend's verdict as an event, as if the job had sent it.
    core::JobEvent event;
    event.sequence = last_sequence_ + 1;
    event.unix_millis = clock_.UnixMillis();
    event.body = core::JobEnded{*backends_verdict_};
    OnEvent(event);
  }
  loop_.Stop();
}

void Submission::OnSignal(int number) {
  const char* name = number == SIGINT ? "Ctrl-C" : number == SIGTERM ? "SIGTERM" : "SIGHUP";
  if (number == SIGHUP && options_.owner && options_.on_hangup) return OnHangup();
  // The job is over and only its record is being read: the client ends with what it knows.
  if (over_) return EndWithoutEvents();
  if (!options_.owner) return Leave();
  // timeout(1) and workflow systems send SIGTERM to the process and again to its group.
  const TimePoint now = clock_.Now();
  if (number == SIGTERM && terminated_ && now - *terminated_ < kOneTermination) return;
  if (number == SIGTERM) terminated_ = now;
  // The first Ctrl-C stops the job. The second leaves without waiting for the end, as does any
  // after the verdict. While nobody could be told of the stop, leaving takes a third one.
  if (verdict_ || interrupts_ > 1 || (interrupts_ == 1 && being_stopped_)) return Leave();
  if (++interrupts_ == 1 && options_.step.is_step) {
    printer_.Notice(absl::StrCat(name, ": stopping the job"));
  } else if (interrupts_ == 1) {
    printer_.OnStop(options_.kill_grace);
  } else {
    printer_.Notice("nobody could be told to stop the job yet; Ctrl-C again: leave");
  }
  BeginStop(absl::StrCat("Stopped by the user who submitted it (", name, ")"));
}

void Submission::OnParentGone() {
  parent_.reset();
  if (over_ || verdict_) return;
  if (!options_.step.stops_with_parent) {
    printer_.Notice(
        "leaving the job, because the process that had started this one has ended; another "
        "attempt of the step can adopt the job, which otherwise ends after tony.client.lease");
    return Leave();
  }
  const std::string gone = "the process that had submitted it has ended";
  printer_.Notice(absl::StrCat("stopping the job, because ", gone));
  interrupts_ = std::max(interrupts_, 1);
  BeginStop(absl::StrCat("Stopped because ", gone));
}

void Submission::BeginStop(const std::string& reason) {
  if (options_.step.stop_wait && stop_wait_ == nullptr) {
    stop_wait_ = loop_.After(*options_.step.stop_wait, [this] { Leave(); });
  }
  if (being_stopped_) return;
  stop_reason_ = reason;
  SendStop();
}

void Submission::OnHangup() {
  // A shell and the kernel may both send SIGHUP, so only the first one is handled. This process has
  // to stay: on the local backend it holds the lock on the job's am_guard(), and it starts another
  // ApplicationMaster when one is lost. The keeper of a detached job does both in its place.
  if (std::exchange(hung_up_, true)) return;
  printer_.Close();  // what is told from now on goes where on_hangup() leads it
  options_.on_hangup();
  unnoted_ = true;
  SendHangupNote();
}

void Submission::SendHangupNote() {
  if (!unnoted_ || !open_ || client_ == nullptr) return;
  // Without an answer the next ApplicationMaster is asked.
  client_->NoteLater(kHangupSentence, options_.stop_deadline,
                     [this, &loop = loop_](const absl::Status& status) {
                       loop.Post([this, status] { unnoted_ = unnoted_ && !status.ok(); });
                     });
}

void Submission::OnSuspend() {
  printer_.Suspend();
  // The default action stops the process, if there is a shell that could continue it.
  struct sigaction handler {};
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGTSTP, &standard, &handler);
  (void)raise(SIGTSTP);
  sigaction(SIGTSTP, &handler, nullptr);
}

void Submission::Leave() {
  std::string sentence = "leaving; the job is being stopped without anybody watching";
  if (verdict_) {
    sentence = "leaving; the job is over";
  } else if (!options_.owner || interrupts_ == 0) {
    sentence = "leaving; the job goes on";
  } else if (!stop_reason_.empty()) {
    sentence = absl::StrCat("leaving before anybody could be told to stop the job; ",
                            source_.AfterLeaving());
  }
  why_ = absl::CancelledError(sentence);
  stream_status_ = absl::OkStatus();
  loop_.Stop();
}

void Submission::SendStop() {
  next_stop_.reset();
  if (verdict_) stop_reason_.clear();
  if (stop_reason_.empty()) return;
  if (client_ != nullptr) return SendStopToMaster();
  source_.Abandon(stop_reason_, [this](const absl::Status& status) { OnStopSent(status); });
}

void Submission::SendStopToMaster() {
  if (std::exchange(stopping_, true)) return;
  client_->StopLater(stop_reason_, options_.stop_deadline,
                     [this, &loop = loop_, number = ++stops_](const absl::Status& status) {
                       loop.Post([this, number, status] {
                         // The answer may come from an earlier ApplicationMaster.
                         if (number != stops_ || !std::exchange(stopping_, false)) return;
                         OnStopSent(status);
                       });
                     });
}

void Submission::OnStopSent(const absl::Status& status) {
  if (stop_reason_.empty()) return;
  if (status.ok() || verdict_) return stop_reason_.clear();
  if (!std::exchange(unheard_, true)) {
    printer_.Notice(absl::StrCat("cannot tell the job to stop yet; trying again and again: ",
                                 std::string(status.message())));
  }
  next_stop_ = loop_.After(kStopPause, [this] { SendStop(); });
}

void Submission::Redraw() {
  printer_.Refresh();
  redraw_ = loop_.After(kRedrawInterval, [this] { Redraw(); });
}

}  // namespace tony::client
