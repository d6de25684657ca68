// The client's side of one command in a task: its terminal or pipes, and the tunnel to the command.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/exec/escape_keys.h"
#include "client/exec/output_file.h"
#include "client/exec/raw_terminal.h"
#include "common/event_loop.h"
#include "common/lifetime.h"
#include "core/model/task_id.h"
#include "rpc/services/job_client.h"
#include "rpc/tunnel/tunnel_end.h"
#include "tony/v1/application_master.pb.h"

namespace tony::client {

/// Runs one command and passes its standard streams on. With a terminal every key goes to the
/// command, the resizes too. Without one, SIGHUP, SIGINT, SIGQUIT and SIGTERM go to the command,
/// and the second of them ends this program, and with it the command. Not thread safe.
class ExecClient {
 public:
  struct Request {
    core::TaskId task;
    std::vector<std::string> arguments;  ///< none: a shell
    bool terminal = false;      ///< standard input and output are a terminal to be passed on
    std::string terminal_type;  ///< TERM
    std::string who;            ///< for the job's note
  };
  /// How it ended. Plain data.
  struct Result {
    int exit_status = 0;  ///< the command's exit code; 128 and the signal's number, if one ended it
    std::string sentence;  ///< what there is to say besides; may be empty
  };

  ExecClient(std::unique_ptr<rpc::JobClient> client, Request request);
  ~ExecClient();

  /// Runs it to its end; to be called once. The codes of the Tunnel call; Unavailable – the tunnel
  /// or the terminal broke.
  absl::StatusOr<Result> Run();

 private:
  v1::ExecWish MakeWish() const;
  void OnFrame(v1::TunnelFrame frame);
  void OnWritten();
  void OnClosed(absl::Status status);
  void OnOutput(const absl::Status& status);
  void OnInput();
  void OnSignal(int number);
  void Pump();
  void Send(v1::ExecFrame frame);
  void Leave(int number);
  void SignLater();
  void Stop(absl::StatusOr<Result> result);

  EventLoop loop_;
  const Request request_;
  std::unique_ptr<RawTerminal> raw_;
  EscapeKeys escape_;
  OutputFile out_;
  OutputFile err_;
  std::unique_ptr<EventLoop::Handle> input_watch_;
  bool input_ended_ = false;  ///< standard input has ended
  bool sent_input_end_ = false;
  bool can_write_ = false;  ///< the tunnel takes a frame
  os::TerminalSize size_;  ///< the terminal's that the executor was told last
  bool resized_ = false;
  bool sign_due_ = false;  ///< a sign of life has to be sent
  int signal_ = 0;         ///< to be forwarded; 0: none
  bool signalled_ = false;
  bool stopped_ = false;
  std::unique_ptr<EventLoop::Handle> sign_;
  std::unique_ptr<EventLoop::Handle> patience_;  ///< set after a signal that asks to end
  absl::StatusOr<Result> result_;
  std::unique_ptr<rpc::JobClient> client_;
  Lifetime lifetime_;
  std::unique_ptr<rpc::TunnelEnd> end_;  ///< last, because its callbacks use the members above
};

}  // namespace tony::client
