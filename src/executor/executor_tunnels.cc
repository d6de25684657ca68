// The part of the executor that answers clients: what their tunnels may reach, and the commands
// that they run beside the program.
#include "common/logging.h"
#include "executor/executor.h"
#include "os/network/port_listeners.h"
#include "rpc/convert/log_lines.h"

#include "absl/strings/str_cat.h"

namespace tony::executor {

void Executor::OnOpenTunnel(const v1::OpenTunnel& wish) {
  absl::Status refusal;
  if (wish.has_exec()) {
    refusal = OpenExec(wish);
    if (refusal.ok()) return;
  } else if (wish.has_logs()) {
    if (!assignment_.log_folder().empty()) {
      refusal = absl::UnimplementedError("its logs lie in the job's folder");
    }
  } else {
    refusal = CheckPort(wish.port());
  }
  tunnels_->Open(wish, connection_->address(), refusal);
}

void Executor::OnReadLog(const v1::ReadLog& wish) {
  if (assignment_.log_folder().empty()) return log_answers_->Answer(wish);
  v1::ExecutorMessage message;
  *message.mutable_log_lines() =
      rpc::ToProto(absl::UnimplementedError("its logs lie in the job's folder"));
  message.mutable_log_lines()->set_request(wish.request());
  Send(std::move(message));
}

// A tunnel may reach the task's reserved ports and those on which its processes listen, and nothing
// else on this machine, even if the ApplicationMaster asks for another port.
absl::Status Executor::CheckPort(int port) const {
  const bool reserved =
      port > 0 && (port == ports_.task_port() || port == ports_.visualization_port());
  if (reserved) return absl::OkStatus();
  if (os::AnyListens(static_cast<uint16_t>(port), keeper_.Processes()).value_or(false)) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat("none of its processes listens on port ", port));
}

absl::Status Executor::OpenExec(const v1::OpenTunnel& wish) {
  if (held_.phase != core::input::HeldTask::Phase::kRunning) {
    return absl::FailedPreconditionError("its program does not run (any more)");
  }
  return exec_.Open(wish.exec(), [dialer = tunnels_->DialerTo(connection_->address()),
                                  tunnel = wish.tunnel()](auto callbacks) {
    return dialer->Answer(tunnel, absl::OkStatus(), std::move(callbacks));
  });
}

void Executor::OnExecEvent(const os::KeeperEvent& event) {
  if (const auto* started = std::get_if<os::KeeperExecStarted>(&event)) exec_.On(*started);
  if (const auto* failed = std::get_if<os::KeeperExecFailed>(&event)) exec_.On(*failed);
  if (const auto* exited = std::get_if<os::KeeperExecExited>(&event)) exec_.On(*exited);
}

}  // namespace tony::executor
