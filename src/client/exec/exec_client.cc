// One event loop for keys, signals and frames. In each direction the next piece is read only when
// the one before is written, so neither side's output fills this program's memory.
#include "client/exec/exec_client.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/on_loop.h"
#include "common/status_macros.h"
#include "rpc/convert/utf8.h"

namespace tony::client {
namespace {

/// The most bytes that one frame takes along.
constexpr size_t kFrameBytes = size_t{64} * 1024;
/// Interval of signs of life; the executor waits for several.
constexpr std::chrono::seconds kSignInterval{30};
/// How long the command may take to end after a SIGTERM or SIGHUP was passed on.
constexpr std::chrono::seconds kTermPatience{5};
/// Shells report a program that a signal has ended so.
constexpr int kSignalled = 128;

}  // namespace

ExecClient::ExecClient(std::unique_ptr<rpc::JobClient> client, Request request)
    : request_(std::move(request)),
      out_(loop_, STDOUT_FILENO),
      err_(loop_, STDERR_FILENO),
      result_(Result{}),
      client_(std::move(client)) {}

ExecClient::~ExecClient() = default;

absl::StatusOr<ExecClient::Result> ExecClient::Run() {
  if (request_.terminal) {
    TONY_ASSIGN_OR_RETURN(raw_, RawTerminal::Enter(STDIN_FILENO));
    size_ = SizeOfTerminal(STDIN_FILENO);
  }
  const auto signals = loop_.WatchSignals({SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH, SIGCONT},
                                          [this](int number) { OnSignal(number); });
  SignLater();
  end_ = client_->tunnels().OpenExec(request_.task, MakeWish(),
                                     {OnLoop(loop_, lifetime_, this, &ExecClient::OnFrame),
                                      OnLoop(loop_, lifetime_, this, &ExecClient::OnWritten),
                                      OnLoop(loop_, lifetime_, this, &ExecClient::OnClosed)});
  end_->Read();
  loop_.Run();
  lifetime_.End();
  end_.reset();
  raw_.reset();
  return result_;
}

v1::ExecWish ExecClient::MakeWish() const {
  v1::ExecWish wish;
  for (const std::string& argument : request_.arguments) wish.add_arguments(argument);
  wish.set_who(rpc::ToUtf8(request_.who));
  if (request_.terminal) {
    wish.mutable_terminal()->set_rows(size_.rows);
    wish.mutable_terminal()->set_columns(size_.columns);
    wish.set_terminal_type(request_.terminal_type);
  }
  return wish;
}

void ExecClient::OnWritten() {
  can_write_ = true;
  Pump();
}

// The one place that sends. Signals and sizes go before input, because they are about the present.
void ExecClient::Pump() {
  if (!can_write_ || stopped_) return;
  v1::ExecFrame frame;
  if (const int number = std::exchange(signal_, 0); number != 0) {
    frame.set_signal(number);
    return Send(std::move(frame));
  }
  if (std::exchange(resized_, false)) {
    size_ = SizeOfTerminal(STDIN_FILENO);
    frame.mutable_size()->set_rows(size_.rows);
    frame.mutable_size()->set_columns(size_.columns);
    return Send(std::move(frame));
  }
  if (std::exchange(sign_due_, false)) {
    frame.mutable_alive();
    return Send(std::move(frame));
  }
  if (input_ended_) {
    if (std::exchange(sent_input_end_, true)) return;
    frame.mutable_input_end();
    return Send(std::move(frame));
  }
  if (input_watch_ == nullptr) {
    input_watch_ = loop_.WatchReadable(STDIN_FILENO, [this] { OnInput(); });
  }
}

void ExecClient::Send(v1::ExecFrame frame) {
  can_write_ = false;
  input_watch_.reset();
  v1::TunnelFrame whole;
  *whole.mutable_exec() = std::move(frame);
  end_->Write(std::move(whole));
}

void ExecClient::OnInput() {
  // SIGWINCH may be seen later than keys that were typed after the change.
  if (raw_ != nullptr && SizeOfTerminal(STDIN_FILENO) != size_) {
    resized_ = true;
    return Pump();
  }
  std::string bytes(kFrameBytes, '\0');
  const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  input_watch_.reset();
  if (count <= 0) {
    input_ended_ = true;
    return Pump();
  }
  bytes.resize(static_cast<size_t>(count));
  if (raw_ != nullptr) {
    bytes = escape_.Take(bytes);
    if (escape_.left()) return Leave(SIGHUP);
    if (bytes.empty()) return Pump();
  }
  can_write_ = false;
  v1::TunnelFrame frame;
  frame.set_data(std::move(bytes));
  end_->Write(std::move(frame));
}

void ExecClient::OnFrame(v1::TunnelFrame frame) {
  if (frame.has_exec() && frame.exec().has_ended()) {
    const v1::ExecEnd& end = frame.exec().ended();
    return Stop(Result{end.signal() != 0 ? kSignalled + end.signal() : end.code(), end.sentence()});
  }
  const auto on_written = [this](const absl::Status& status) { OnOutput(status); };
  if (frame.has_data()) return out_.Write(std::move(*frame.mutable_data()), on_written);
  if (frame.has_exec() && !frame.exec().error_output().empty()) {
    return err_.Write(std::move(*frame.mutable_exec()->mutable_error_output()), on_written);
  }
  end_->Read();
}

void ExecClient::OnOutput(const absl::Status& status) {
  // The reader of our output may be done (`tony exec … | head`), as with any program in a pipe.
  if (absl::IsUnavailable(status)) return Leave(SIGPIPE);
  if (!status.ok()) return Stop(status);
  end_->Read();
}

void ExecClient::OnClosed(absl::Status status) {
  if (status.ok()) status = absl::UnavailableError("the tunnel ended before the command");
  Stop(std::move(status));
}

void ExecClient::OnSignal(int number) {
  if (number == SIGWINCH || number == SIGCONT) {
    if (number == SIGCONT && raw_ != nullptr) raw_->Reenter();
    resized_ = raw_ != nullptr;
    return Pump();
  }
  // With a terminal, keys become signals at the other end, so this signal is for this program.
  if (raw_ != nullptr || std::exchange(signalled_, true)) return Leave(number);
  signal_ = number;
  if (number == SIGTERM || number == SIGHUP) {
    patience_ = loop_.After(kTermPatience, [this, number] { Leave(number); });
  }
  Pump();
}

void ExecClient::SignLater() {
  sign_ = loop_.After(kSignInterval, [this] {
    sign_due_ = true;
    Pump();
    SignLater();
  });
}

/// Leaves as if the signal had ended this program. The executor then hangs the command up.
void ExecClient::Leave(int number) { Stop(Result{kSignalled + number, ""}); }

void ExecClient::Stop(absl::StatusOr<Result> result) {
  // The first result counts: the stream ends after the command's exit code.
  if (std::exchange(stopped_, true)) return;
  result_ = std::move(result);
  input_watch_.reset();
  loop_.Stop();
}

}  // namespace tony::client
