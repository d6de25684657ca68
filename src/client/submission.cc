// The client's event loop while a job runs.
#include "client/submission.h"

#include <signal.h>

#include <cstdio>

#include "absl/strings/str_cat.h"

namespace tony::client {
namespace {

constexpr std::chrono::milliseconds kRedrawInterval{200};
/// For the ApplicationMaster to note a wish.
constexpr std::chrono::seconds kStopDeadline{5};
/// For the ApplicationMaster to clean up and exit after the last event.
constexpr std::chrono::seconds kExitPatience{30};

}  // namespace

Submission::Submission(EventLoop& loop, MasterProcess& master, rpc::JobClient& client,
                       ProgressPrinter& printer)
    : loop_(loop), master_(master), client_(client), printer_(printer) {}

absl::StatusOr<core::Verdict> Submission::FollowToEnd() {
  auto signals =
      loop_.WatchSignals({SIGINT, SIGTERM, SIGHUP}, [this](int number) { OnSignal(number); });
  master_watch_ = loop_.WatchReadable(master_.pidfd(), [this] {
    master_watch_.reset();
    master_.ended();  // reaps it
    master_over_ = true;
    LeaveIfOver();
  });
  // The stream may end after this object has: only the loop runs what is posted, and outlives the
  // client.
  client_.Follow(0, /*owner=*/true,
                 {[this, &loop = loop_](core::JobEvent event) {
                    loop.Post([this, event = std::move(event)] { OnEvent(event); });
                  },
                  [this, &loop = loop_](absl::Status status) {
                    loop.Post([this, status] { OnStreamClosed(status); });
                  }});
  Redraw();
  loop_.Run();
  redraw_.reset();
  printer_.Refresh();
  if (verdict_) return *verdict_;
  return absl::UnavailableError(absl::StrCat("the ApplicationMaster went away without a verdict (",
                                             stream_status_.ToString(),
                                             "); its tasks end with it"));
}

void Submission::OnEvent(const core::JobEvent& event) {
  if (const auto* ended = std::get_if<core::JobEnded>(&event.body)) verdict_ = ended->verdict;
  printer_.OnEvent(event);
}

void Submission::OnStreamClosed(const absl::Status& status) {
  stream_status_ = status;
  stream_over_ = true;
  master_deadline_ = loop_.After(kExitPatience, [this] {
    master_.Kill();
    loop_.Stop();
  });
  LeaveIfOver();
}

void Submission::LeaveIfOver() {
  if (stream_over_ && master_over_) loop_.Stop();
}

void Submission::OnSignal(int number) {
  const char* name = number == SIGINT ? "Ctrl-C" : number == SIGTERM ? "SIGTERM" : "SIGHUP";
  if (++interrupts_ > 2) {
    // The stream breaks with this process, which ends the job as well.
    std::fprintf(stderr, "leaving; the job is being stopped without anybody watching\n");
    loop_.Stop();
    return;
  }
  const absl::Status stopped = client_.Stop(
      absl::StrCat("Stopped by the user who submitted it (", name, ")"), kStopDeadline);
  if (!stopped.ok()) {
    std::fprintf(stderr, "cannot tell the ApplicationMaster to stop: %s\n",
                 std::string(stopped.message()).c_str());
  } else if (interrupts_ == 1) {
    std::fprintf(stderr, "stopping the job; twice more to leave at once\n");
  }
}

void Submission::Redraw() {
  printer_.Refresh();
  redraw_ = loop_.After(kRedrawInterval, [this] { Redraw(); });
}

}  // namespace tony::client
