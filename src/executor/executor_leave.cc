// The end of the executor: what it still says, and how long its listeners may take to hear it.
#include "common/logging.h"
#include "executor/executor.h"
#include "executor/master/executor_messages.h"

namespace tony::executor {
namespace {

using std::chrono::milliseconds;

/// Upper bound for sending the last messages and lines of logs on shutdown. On a busy machine a
/// second was not enough, and what a failed program had printed last was lost.
constexpr milliseconds kLeavePatience{5000};

}  // namespace

void Executor::Leave() {
  heartbeat_timer_.reset();
  feed_.reset();
  // Whatever the program's processes hold is free, so another executor may take its place.
  if (options_.tells_its_end) Send(LeavingMessage(exit_code_ != 0, leaving_because_));
  // Queued messages (the end of the task, for example) and the last part of the logs are still
  // sent. A receiver that does not take them is waited for until the deadline only.
  unsaid_ = 3;
  connection_->Close();
  exec_.Finish([this] { OnSaid(); });
  tunnels_->FinishLogs([this] { OnSaid(); });
  leave_deadline_ = loop_.After(kLeavePatience, [this] {
    LogWarning("leaving, though the last messages or lines of logs are not sent");
    loop_.Stop();
  });
}

void Executor::OnSaid() {
  if (--unsaid_ == 0) loop_.Stop();
}

}  // namespace tony::executor
