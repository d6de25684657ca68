// The client's event loop while a job runs.
#include "client/submission.h"

#include <signal.h>

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/job_connection.h"
#include "client/recorded_events.h"
#include "os/reap_orphans.h"

namespace tony::client {
namespace {

constexpr std::chrono::milliseconds kRedrawInterval{200};
/// Before a third ApplicationMaster is started, and each one after it.
constexpr std::chrono::milliseconds kRestartPause{200};

void Say(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

}  // namespace

Submission::Submission(EventLoop& loop, Options options, MasterProcess master,
                       ProgressPrinter& printer)
    : loop_(loop), options_(std::move(options)), master_(std::move(master)), printer_(printer) {}

Submission::~Submission() = default;

absl::StatusOr<core::Verdict> Submission::FollowToEnd() {
  auto signals =
      loop_.WatchSignals({SIGINT, SIGTERM, SIGHUP}, [this](int number) { OnSignal(number); });
  os::BecomeSubreaper();
  WatchMaster();
  if (absl::Status following = Follow(); !following.ok()) return following;
  Redraw();
  loop_.Run();
  redraw_.reset();
  // Executors of a lost ApplicationMaster became this process's children.
  if (master_over_) os::ReapOrphans();
  printer_.Refresh();
  if (verdict_) return *verdict_;
  return absl::UnavailableError(absl::StrCat("the ApplicationMaster went away without a verdict (",
                                             stream_status_.ToString(), ") and was started again ",
                                             restarts_, " times; its tasks end without it"));
}

void Submission::WatchMaster() {
  master_over_ = false;
  master_watch_ = loop_.WatchReadable(master_.pidfd(), [this] {
    master_watch_.reset();
    master_.ended();  // reaps it
    master_over_ = true;
    LeaveIfOver();
  });
}

absl::Status Submission::Follow() {
  absl::StatusOr<std::unique_ptr<rpc::JobClient>> client = ConnectToJob(options_.folder);
  if (!client.ok()) return client.status();
  client_ = *std::move(client);
  stream_over_ = false;
  answer_deadline_ = loop_.After(options_.start_deadline, [this] { OnNoAnswer(); });
  // The stream may end after this object has: only the loop runs what is posted, and outlives the
  // client.
  client_->Follow(last_sequence_, /*owner=*/true,
                  {[this, &loop = loop_](core::JobEvent event) {
                     loop.Post([this, event = std::move(event)] { OnEvent(event); });
                   },
                   [this, &loop = loop_](absl::Status status) {
                     loop.Post([this, status] { OnStreamClosed(status); });
                   }});
  return absl::OkStatus();
}

void Submission::OnEvent(const core::JobEvent& event) {
  answer_deadline_.reset();
  last_sequence_ = event.sequence;
  if (const auto* ended = std::get_if<core::JobEnded>(&event.body)) verdict_ = ended->verdict;
  printer_.OnEvent(event);
}

void Submission::OnStreamClosed(const absl::Status& status) {
  stream_status_ = status;
  stream_over_ = true;
  answer_deadline_.reset();
  master_deadline_ = loop_.After(options_.exit_deadline, [this] {
    master_.Kill();
    loop_.Stop();
  });
  LeaveIfOver();
}

void Submission::OnNoAnswer() {
  // One without descriptors, say: it cannot accept the stream.
  Say("the ApplicationMaster runs but does not answer (tony.client.am-start-timeout-ms); ending "
      "it");
  master_.Kill();
}

void Submission::CatchUp() {
  ForEachRecordedEvent(options_.folder, [this](int, const absl::StatusOr<core::JobEvent>& event) {
    if (event.ok() && event->sequence > last_sequence_) OnEvent(*event);
    return true;
  });
}

void Submission::LeaveIfOver() {
  if (!stream_over_ || !master_over_) return;
  master_deadline_.reset();
  if (!verdict_) CatchUp();
  if (verdict_ || restarts_ >= options_.restarts) return loop_.Stop();
  // The first time at once: the tasks go on, but not for long.
  if (restarts_ == 0) return Restart();
  restart_ = loop_.After(kRestartPause, [this] { Restart(); });
}

void Submission::Restart() {
  ++restarts_;
  os::ReapOrphans();
  Say(absl::StrCat("the ApplicationMaster was lost; starting another (",
                   options_.restarts - restarts_, " restarts left)"));
  absl::StatusOr<MasterProcess> master =
      MasterProcess::Start(options_.folder, {.deadline = options_.start_deadline});
  absl::Status following = master.status();
  if (master.ok()) {
    client_.reset();
    master_ = *std::move(master);
    WatchMaster();
    following = Follow();
  }
  if (!following.ok()) {
    Say(absl::StrCat("that failed: ", std::string(following.message())));
    stream_over_ = true;
    return LeaveIfOver();
  }
  if (!stop_reason_.empty()) SendStop();
}

void Submission::OnSignal(int number) {
  const char* name = number == SIGINT ? "Ctrl-C" : number == SIGTERM ? "SIGTERM" : "SIGHUP";
  if (++interrupts_ > 2) {
    // The stream breaks with this process, which ends the job as well.
    Say("leaving; the job is being stopped without anybody watching");
    loop_.Stop();
    return;
  }
  stop_reason_ = absl::StrCat("Stopped by the user who submitted it (", name, ")");
  SendStop();
  if (stop_reason_.empty() && interrupts_ == 1) {
    Say("stopping the job; twice more to leave at once");
  }
}

void Submission::SendStop() {
  const absl::Status stopped = client_->Stop(stop_reason_, options_.stop_deadline);
  if (stopped.ok()) {
    stop_reason_.clear();
  } else {
    Say(absl::StrCat("cannot tell the ApplicationMaster to stop yet: ",
                     std::string(stopped.message())));
  }
}

void Submission::Redraw() {
  printer_.Refresh();
  redraw_ = loop_.After(kRedrawInterval, [this] { Redraw(); });
}

}  // namespace tony::client
