// One command of `tony exec`: a process beside the task's program, and the tunnel to its client.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "common/lifetime.h"
#include "os/containment/keeper.h"
#include "os/files/unique_fd.h"
#include "rpc/tunnel/tunnel_end.h"
#include "tony/v1/application_master.pb.h"

namespace tony::executor {

/// The task whose program a command runs beside. Plain data.
struct ExecTask {
  std::string name;                      ///< "worker:0"
  std::vector<std::string> environment;  ///< the program's, "NAME=value"
  std::string working_folder;
  Duration kill_grace{0};  ///< from the hang-up of a command to SIGKILL
};

/// Carries bytes between the command's descriptors and the tunnel, one frame at a time in each
/// direction, so a slow side makes the other one wait.
///
///   Start() ─▶ OnStarted(): answer, carry bytes ─▶ OnExited(): the rest of the output, the exit
///   code, the end ─▶ the tunnel is closed
///
/// A tunnel that breaks before the command's end hangs the command up. Not thread safe: owned by
/// the event loop.
class ExecSession {
 public:
  /// A client that sends no frame for this long is given up: its machine may be gone.
  static constexpr std::chrono::minutes kLongestSilence{3};
  /// The limit on what is still read from the output after the command's end: background processes
  /// of the command may write for ever.
  static constexpr int64_t kMostRest = int64_t{1} << 20;

  using Dial = std::function<std::unique_ptr<rpc::TunnelEnd>(rpc::TunnelEnd::Callbacks)>;

  /// `on_over`: command and tunnel are both over; may destroy the session. `keeper` must outlive
  /// this.
  ExecSession(EventLoop& loop, os::Keeper& keeper, int number, Dial dial,
              std::function<void()> on_over);
  ~ExecSession();
  ExecSession(const ExecSession&) = delete;
  ExecSession& operator=(const ExecSession&) = delete;

  /// Asks the keeper to start the command. The keeper's event follows. The codes of
  /// os::OpenPseudoTerminal() and os::Keeper::Exec(). InvalidArgument – a shell is wanted, and
  /// there is none.
  absl::Status Start(const v1::ExecWish& wish, const ExecTask& task);

  /// The keeper's events of this command.
  void OnStarted();
  void OnFailed(const os::KeeperExecFailed& failed);
  void OnExited(const os::KeeperExecExited& exited);
  /// The task's program has ended; the keeper hangs the command up.
  void OnTaskEnded();

  int number() const { return number_; }

 private:
  /// One of the command's outputs.
  struct Output {
    os::UniqueFd fd;  ///< not valid: at its end
    std::unique_ptr<EventLoop::Handle> watch;
  };

  absl::Status OpenStreams(const v1::ExecWish& wish, os::SpawnRequest& request);
  absl::Status OpenPipes(os::SpawnRequest& request);
  void Answer();
  void Pump();
  bool SendOutput(size_t stream);
  void SendExit();
  void OnFrame(v1::TunnelFrame frame);
  void OnExecFrame(const v1::ExecFrame& frame);
  void OnWritten();
  void OnClosed(absl::Status status);
  void WriteInput();
  void EndInput();
  void ReadNext();
  void AwaitSign();
  void CloseTunnel();
  void EndIfOver();

  EventLoop& loop_;
  os::Keeper& keeper_;
  const int number_;
  const Dial dial_;
  const std::function<void()> on_over_;
  ExecTask task_;
  bool terminal_ = false;
  os::UniqueFd input_fd_;  ///< the terminal, or the pipe to the command's standard input
  std::string input_;      ///< received, and not written to the command yet
  std::unique_ptr<EventLoop::Handle> input_watch_;
  std::array<Output, 2> outputs_;     ///< standard output and error; a terminal is the first
  std::vector<os::UniqueFd> theirs_;  ///< the command's ends, until the keeper has them
  size_t next_output_ = 0;            ///< the output to be read first, for both to have their turns
  bool exited_ = false;
  bool task_ended_ = false;
  int64_t rest_ = 0;  ///< bytes of output read after the end
  v1::ExecEnd exit_;
  bool can_write_ = false;  ///< the tunnel takes a frame
  bool sent_exit_ = false;
  bool sent_end_ = false;
  bool heard_ = false;  ///< a frame has arrived since the timer started
  std::unique_ptr<EventLoop::Handle> silence_;
  std::unique_ptr<EventLoop::Handle> farewell_;
  Lifetime lifetime_;                    ///< of the tunnel
  std::unique_ptr<rpc::TunnelEnd> end_;  ///< last, because its callbacks use the members above
};

}  // namespace tony::executor
