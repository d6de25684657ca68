// One run of the user's program: spawned through the keeper, its output carried to files, its end
// reported once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/tasks/task_exit.h"
#include "executor/output/log_pump.h"
#include "executor/output/output_tail.h"
#include "executor/output/parameter_finder.h"
#include "executor/output/program_reports.h"
#include "executor/output/progress_finder.h"
#include "executor/output/report_pipe.h"
#include "executor/task/exit_hints.h"
#include "executor/task/memory_watch.h"
#include "os/containment/keeper.h"

namespace tony::executor {

/// The end of a program that could not be started. ResourceExhausted (descriptors, processes,
/// memory, room on the disk) and Unavailable (the keeper was killed) make it lost, at the expense
/// of the infrastructure; every other code is the program's own fault.
core::TaskExit NotStarted(const absl::Status& why);

/// Runs programs one after the other in one container. Not thread safe: owned by the event loop.
class TaskProcess {
 public:
  struct Command {
    std::string shell_command;             ///< as for bash -c
    std::vector<std::string> environment;  ///< "NAME=value", complete
    std::string working_folder;
    std::string log_prefix;  ///< of stdout.log and stderr.log: "/folder/", "/folder/attempt-1."
    LogOptions logs;
    Duration timeout{0};  ///< 0: none
    Duration kill_grace{0};
    int tail_lines = 20;
    int64_t memory_limit_bytes = 0;  ///< limit of the whole tree, as the keeper was told; 0: none
    std::string memory_key;          ///< the key by which a user sets the limit
    std::string report_pipe;         ///< where the program reports values; empty: nowhere
    std::string progress_pattern = {};  ///< tony.task.progress-pattern; empty: none
    bool finds_parameters = false;      ///< look for model parameters in the standard output
    std::vector<int> reserved_ports;    ///< the ports that tony reserved for the task
    std::string framework;              ///< the job's, as in tony.application.framework
  };

  struct Callbacks {
    std::function<void(pid_t)> on_started;
    /// The program ended, or could not be started. Called once for each Run().
    std::function<void(core::TaskExit)> on_ended;
    /// No process of the tree is left; Run() may be called again. Follows each Run() or Kill().
    std::function<void()> on_tree_gone;
    /// The keeper was killed: nothing can be run any more.
    std::function<void(std::string)> on_keeper_lost;
    /// Output could not be kept, or reports could not be read; the argument is a sentence for
    /// people. May be empty.
    std::function<void(const std::string&)> on_note = {};
    /// An event of a command beside the program: one of KeeperExec…. May be empty.
    std::function<void(const os::KeeperEvent&)> on_exec = {};
    /// The program has run too long. It is ended when `end` is called, whose argument is added to
    /// the message of its exit. Empty: it is ended at once.
    std::function<void(std::function<void(const std::string& note)> end)> before_timeout = {};
  };

  /// `keeper` must outlive this.
  TaskProcess(EventLoop& loop, os::Keeper& keeper, Callbacks callbacks);

  /// Starts the program. A failure arrives as on_ended with the result of NotStarted(), then
  /// on_tree_gone.
  void Run(const Command& command);
  /// Ends the whole tree. on_tree_gone follows, at once if nothing runs. The program's end is then
  /// kStopped, unless the program still succeeds.
  void Kill(Duration grace);
  /// When the program of the newest run has printed last; its start, if it has printed nothing.
  TimePoint last_output() const { return last_output_; }
  /// How much it has printed into its logs.
  int64_t printed_bytes() const { return printed_bytes_; }
  /// The progress that the program of the newest run has reported; nothing if it reports none.
  std::optional<core::Progress> progress() const {
    return reports_ == nullptr ? std::nullopt : reports_->progress();
  }
  /// True from Run() until on_tree_gone.
  bool active() const { return active_; }

 private:
  absl::Status Spawn(const Command& command);
  /// Makes ready what reads the program's reports; reports why something does not work.
  void OpenReports(const Command& command);
  void OnTimeout(Duration grace);
  void OnKeeperReadable();
  void On(const os::KeeperStarted& started);
  void On(const os::KeeperSpawnFailed& failed);
  void On(const os::KeeperExited& exited);
  void On(const os::KeeperTreeGone& gone);
  void On(const os::KeeperLost& lost);
  void On(const os::KeeperExecStarted& event) { OnExec(event); }
  void On(const os::KeeperExecFailed& event) { OnExec(event); }
  void On(const os::KeeperExecExited& event) { OnExec(event); }
  void OnExec(const os::KeeperEvent& event) {
    if (callbacks_.on_exec) callbacks_.on_exec(event);
  }
  void WatchMemory();
  /// The parameters in the whole output. Reports those that are too long to be passed on.
  std::string FoundParameters();
  /// Sets the cause of `exit` to out of memory, if that was the cause; otherwise adds to `exit`
  /// what there is to say about memory.
  void JudgeMemory(const os::KeeperExited& exited, core::TaskExit& exit) const;
  void End(core::TaskExit exit);
  void TreeGone();
  void Note(const std::string& sentence);

  EventLoop& loop_;
  os::Keeper& keeper_;
  const Callbacks callbacks_;
  const SystemClock clock_;
  std::unique_ptr<EventLoop::Handle> keeper_watch_;
  std::unique_ptr<EventLoop::Handle> timeout_;
  std::vector<std::unique_ptr<LogPump>> pumps_;
  OutputTail tail_{0};
  std::unique_ptr<ProgramReports> reports_;    ///< of the newest run; null: there was none
  std::unique_ptr<ReportPipe> report_pipe_;    ///< null: the program cannot report by a pipe
  std::unique_ptr<ProgressFinder> progress_;   ///< null: its output says nothing of progress
  std::optional<ParameterFinder> parameters_;  ///< set for a program that preprocesses
  TimePoint last_output_;
  int64_t printed_bytes_ = 0;
  bool active_ = false;
  bool ended_ = true;  ///< the end of the newest run was reported, or there was no run
  bool timed_out_ = false;
  std::string timeout_note_;  ///< about the program at the time-out
  int runs_ = 0;              ///< number of the newest run
  bool stopped_ = false;      ///< Kill() came before the end
  int64_t memory_limit_bytes_ = 0;
  std::string memory_key_;
  ProgramFacts facts_;  ///< of the newest run
  std::unique_ptr<MemoryWatch> memory_watch_;
  int64_t exceeding_bytes_ = 0;  ///< bytes for which the program was ended; 0: it was not
};

}  // namespace tony::executor
