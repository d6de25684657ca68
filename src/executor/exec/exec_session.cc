// The command's descriptors do not block. Output is read only when the tunnel takes a frame, and
// the next frame of input is asked for only when the last one is written: no buffer grows.
#include "executor/exec/exec_session.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/on_loop.h"
#include "common/status_macros.h"
#include "executor/task/command_request.h"
#include "os/processes/pseudo_terminal.h"
#include "rpc/convert/utf8.h"

namespace tony::executor {
namespace {

using std::chrono::seconds;

/// The most bytes that one frame takes along.
constexpr size_t kFrameBytes = size_t{64} * 1024;
/// How long the client may take to close its direction, after it was told of the command's end.
constexpr seconds kFarewellPatience{10};
/// What a terminal takes for the end of the input.
constexpr char kEndOfInput = '\x04';
/// Exit codes of shells for a command that cannot be executed, and for one that is not found.
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

/// The program's environment, with the client's terminal if the command gets one.
std::vector<std::string> EnvironmentOf(const v1::ExecWish& wish, const ExecTask& task) {
  std::vector<std::string> environment = task.environment;
  if (!wish.has_terminal() || wish.terminal_type().empty()) return environment;
  std::erase_if(environment,
                [](const std::string& variable) { return absl::StartsWith(variable, "TERM="); });
  environment.push_back(absl::StrCat("TERM=", wish.terminal_type()));
  return environment;
}

bool IsForwarded(int number) {
  return number == SIGHUP || number == SIGINT || number == SIGQUIT || number == SIGTERM;
}

}  // namespace

ExecSession::ExecSession(EventLoop& loop, os::Keeper& keeper, int number, Dial dial,
                         std::function<void()> on_over)
    : loop_(loop),
      keeper_(keeper),
      number_(number),
      dial_(std::move(dial)),
      on_over_(std::move(on_over)) {}

ExecSession::~ExecSession() { lifetime_.End(); }

absl::Status ExecSession::Start(const v1::ExecWish& wish, const ExecTask& task) {
  task_ = task;
  os::SpawnRequest request;
  request.arguments.assign(wish.arguments().begin(), wish.arguments().end());
  if (request.arguments.empty()) {
    const std::string shell = FindShell("");
    if (shell.empty()) {
      return absl::InvalidArgumentError(
          "its image has neither /bin/bash nor /bin/sh; name a program of the image");
    }
    request.arguments = {shell};
  }
  request.environment = EnvironmentOf(wish, task);
  request.working_folder = task.working_folder;
  TONY_RETURN_IF_ERROR(OpenStreams(wish, request));
  const absl::Status asked = keeper_.Exec(number_, request);
  theirs_.clear();  // the keeper has its own copies; ours would hide the end of the output
  return asked;
}

absl::Status ExecSession::OpenStreams(const v1::ExecWish& wish, os::SpawnRequest& request) {
  terminal_ = wish.has_terminal();
  if (!terminal_) return OpenPipes(request);
  TONY_ASSIGN_OR_RETURN(
      os::PseudoTerminal terminal,
      os::OpenPseudoTerminal({wish.terminal().rows(), wish.terminal().columns()}));
  request.terminal = true;
  request.stdin_fd = request.stdout_fd = request.stderr_fd = terminal.program.get();
  theirs_.push_back(std::move(terminal.program));
  // Two descriptors of one file: input and output are waited for apart from each other.
  input_fd_.Reset(::fcntl(terminal.user.get(), F_DUPFD_CLOEXEC, 0));
  if (!input_fd_.valid()) {
    return absl::ResourceExhaustedError("no descriptor is left for the terminal");
  }
  outputs_[0].fd = std::move(terminal.user);
  return absl::OkStatus();
}

// Only the session's own ends do not block; the command must not notice anything.
absl::Status ExecSession::OpenPipes(os::SpawnRequest& request) {
  for (int* const theirs : {&request.stdin_fd, &request.stdout_fd, &request.stderr_fd}) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      return absl::ResourceExhaustedError(
          absl::StrCat("cannot make a pipe to the command: ", std::strerror(errno)));
    }
    const bool input = theirs == &request.stdin_fd;
    const int own = ends[input ? 1 : 0];
    *theirs = ends[input ? 0 : 1];
    theirs_.emplace_back(*theirs);
    ::fcntl(own, F_SETFL, O_NONBLOCK);
    os::UniqueFd& kept = input                          ? input_fd_
                         : theirs == &request.stdout_fd ? outputs_[0].fd
                                                        : outputs_[1].fd;
    kept.Reset(own);
  }
  return absl::OkStatus();
}

void ExecSession::OnStarted() {
  LogDebug("a command runs beside the program", {{"exec", number_}, {"task", task_.name}});
  Answer();
}

// The client gets what a shell would tell: the reason as a line, and the exit code.
void ExecSession::OnFailed(const os::KeeperExecFailed& failed) {
  LogDebug("a command cannot be started", {{"exec", number_}, {"why", failed.message}});
  exited_ = true;
  exit_.set_code(failed.error_number == ENOENT ? kNotFound : kNotExecutable);
  exit_.set_sentence(rpc::ToUtf8(failed.message));
  Answer();
}

void ExecSession::Answer() {
  end_ = dial_({OnLoop(loop_, lifetime_, this, &ExecSession::OnFrame),
                OnLoop(loop_, lifetime_, this, &ExecSession::OnWritten),
                OnLoop(loop_, lifetime_, this, &ExecSession::OnClosed)});
  AwaitSign();
  ReadNext();
}

// A signal that ends the whole tree may end the command before the program, so that the task's own
// end comes later.
void ExecSession::OnExited(const os::KeeperExecExited& exited) {
  LogDebug("a command beside the program has ended",
           {{"exec", number_}, {"code", exited.status.code}, {"signal", exited.status.signal}});
  exited_ = true;
  exit_.set_code(exited.status.code);
  exit_.set_signal(exited.status.signal);
  if (task_ended_ || exited.with_tree) {
    exit_.set_sentence(rpc::ToUtf8(absl::StrCat(
        task_.name, task_ended_ ? " has ended" : " is being ended", ", and the command with it")));
  }
  if (end_ == nullptr) return EndIfOver();
  Pump();
}

void ExecSession::OnTaskEnded() { task_ended_ = true; }

void ExecSession::OnWritten() {
  can_write_ = true;
  Pump();
}

// The one place that sends. Output comes before the exit code; after the command's end what is in
// the pipes, and no more than that.
void ExecSession::Pump() {
  if (!can_write_ || sent_end_ || end_ == nullptr) return;
  for (Output& output : outputs_) output.watch.reset();
  if (sent_exit_) {
    can_write_ = false;
    sent_end_ = true;
    v1::TunnelFrame frame;
    frame.mutable_end();
    return end_->Write(std::move(frame));
  }
  next_output_ = 1 - next_output_;
  if (rest_ < kMostRest && (SendOutput(next_output_) || SendOutput(1 - next_output_))) return;
  if (exited_) return SendExit();
  for (Output& output : outputs_) {
    if (!output.fd.valid()) continue;
    output.watch = loop_.WatchReadable(output.fd.get(), [this] { Pump(); });
  }
}

/// Returns whether a frame was sent.
bool ExecSession::SendOutput(size_t stream) {
  os::UniqueFd& fd = outputs_[stream].fd;
  if (!fd.valid()) return false;
  std::string bytes(kFrameBytes, '\0');
  const ssize_t count = ::read(fd.get(), bytes.data(), bytes.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count <= 0) {  // a terminal's last user gone is EIO
    fd.Reset();
    return false;
  }
  bytes.resize(static_cast<size_t>(count));
  if (exited_) rest_ += count;
  v1::TunnelFrame frame;
  if (stream == 0) {
    frame.set_data(std::move(bytes));
  } else {
    frame.mutable_exec()->set_error_output(std::move(bytes));
  }
  can_write_ = false;
  end_->Write(std::move(frame));
  return true;
}

void ExecSession::SendExit() {
  can_write_ = false;
  sent_exit_ = true;
  v1::TunnelFrame frame;
  *frame.mutable_exec()->mutable_ended() = exit_;
  end_->Write(std::move(frame));
  farewell_ = loop_.After(kFarewellPatience, [this] { CloseTunnel(); });
}

void ExecSession::OnFrame(v1::TunnelFrame frame) {
  heard_ = true;
  if (frame.has_end()) return ReadNext();  // waits for the stream's end
  if (frame.has_exec()) {
    OnExecFrame(frame.exec());
    return ReadNext();
  }
  input_ = std::move(*frame.mutable_data());
  WriteInput();
}

void ExecSession::OnExecFrame(const v1::ExecFrame& frame) {
  switch (frame.body_case()) {
    case v1::ExecFrame::kSize:
      if (terminal_ && input_fd_.valid()) {
        os::ResizeTerminal(input_fd_.get(), {frame.size().rows(), frame.size().columns()});
      }
      return;
    case v1::ExecFrame::kSignal:
      if (IsForwarded(frame.signal()) && !exited_) {
        keeper_.SignalExec(number_, frame.signal()).IgnoreError();  // reported as KeeperLost
      }
      return;
    case v1::ExecFrame::kInputEnd:
      return EndInput();
    default:
      return;
  }
}

void ExecSession::EndInput() {
  // A terminal stays open for the output.
  if (terminal_ && input_fd_.valid()) (void)!::write(input_fd_.get(), &kEndOfInput, 1);
  if (!terminal_) input_fd_.Reset();
}

// Input for a command that has closed its standard input is dropped, so that frames behind it still
// arrive.
void ExecSession::WriteInput() {
  while (input_fd_.valid() && !input_.empty()) {
    const ssize_t count = ::write(input_fd_.get(), input_.data(), input_.size());
    if (count >= 0) {
      input_.erase(0, static_cast<size_t>(count));
    } else if (errno == EAGAIN) {
      if (input_watch_ == nullptr) {
        input_watch_ = loop_.WatchWritable(input_fd_.get(), [this] { WriteInput(); });
      }
      return;
    } else if (errno != EINTR) {
      input_watch_.reset();
      input_fd_.Reset();
    }
  }
  input_.clear();
  input_watch_.reset();
  ReadNext();
}

void ExecSession::ReadNext() {
  if (end_ != nullptr) end_->Read();
}

// A machine that vanishes closes no connection. While the command takes no input, no frame is
// asked for, so none can come.
void ExecSession::AwaitSign() {
  heard_ = false;
  silence_ = loop_.After(kLongestSilence, [this] {
    if (heard_ || !input_.empty()) return AwaitSign();
    OnClosed(absl::DeadlineExceededError("the client gives no sign of life"));
  });
}

// The tunnel's stream is over, because both sides have said all, or because something broke.
void ExecSession::OnClosed(absl::Status status) {
  CloseTunnel();
  if (exited_) return;
  LogInfo("the client of a command is gone: ending the command",
          {{"exec", number_}, {"task", task_.name}, {"why", status.message()}});
  for (Output& output : outputs_) {
    output.watch.reset();
    output.fd.Reset();
  }
  input_watch_.reset();
  input_fd_.Reset();
  keeper_.EndExec(number_, task_.kill_grace).IgnoreError();  // reported as KeeperLost
}

void ExecSession::CloseTunnel() {
  silence_.reset();
  farewell_.reset();
  lifetime_.End();
  end_.reset();
  EndIfOver();
}

void ExecSession::EndIfOver() {
  if (!exited_ || end_ != nullptr) return;
  // Posted, because the session is destroyed by it.
  loop_.Post([over = on_over_] { over(); });
}

}  // namespace tony::executor
