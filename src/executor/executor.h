// The TaskExecutor: carries out the ApplicationMaster's orders in one container, and reports the
// outcome.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/job/job_input.h"
#include "executor/exec/exec_sessions.h"
#include "executor/feed/task_feed.h"
#include "executor/horovod/horovod_task.h"
#include "executor/master/executor_messages.h"
#include "executor/master/master_connection.h"
#include "executor/master/task_lease.h"
#include "executor/master/tunnels.h"
#include "executor/master/unsent_measurements.h"
#include "executor/options.h"
#include "executor/output/log_answers.h"
#include "executor/setup/hadoop_environment.h"
#include "executor/task/silence_watch.h"
#include "executor/task/task_environment.h"
#include "executor/task/task_meter.h"
#include "executor/task/task_ports.h"
#include "executor/task/task_process.h"
#include "executor/task/task_stacks.h"
#include "executor/tie.h"
#include "os/containment/keeper.h"
#include "rpc/grpc/grpc_threads.h"
#include "rpc/security/credentials.h"
#include "tony/v1/application_master.pb.h"

namespace tony::executor {

/// The life of one container:
///
///   hello ─▶ assignment: unpack ─▶ prepare(epoch): end the old tree, reserve ports ─▶ registered
///   ─▶ start(spec): spawn ─▶ started ─▶ ended ─▶ (prepare of the next epoch | shutdown)
///
/// The archives are unpacked once, on a thread of their own; everything else runs on the event
/// loop. When the stream to the ApplicationMaster breaks, the program runs on. The first message of
/// the next stream, perhaps to another ApplicationMaster, says what the executor holds. When no
/// ApplicationMaster is reached in time, the executor ends the process tree and then itself.
///
/// Until the lease on the task (TaskLease) runs out, no ApplicationMaster gives the task away. When
/// it has run out, the keeper suspends the program. An executor that finds its lease expired
/// (because it was stopped, was starved, or got no answer) obeys no order, since the order may have
/// been on its way ever since the lease ran out. As soon as a heartbeat is answered in time again,
/// the executor says hello again; the answer tells it to go on or to shut down. Not thread safe:
/// owned by the loop.
class Executor {
 public:
  /// `keeper` was started before any thread; it and `loop` must outlive this. `environment`: the
  /// environment of the container.
  Executor(EventLoop& loop, os::Keeper& keeper, Options options, std::string working_folder,
           std::vector<std::string> environment);
  ~Executor();

  /// Opens the connection; afterwards the caller runs the loop.
  void Start(const rpc::Credentials& credentials);
  /// Handles a signal that asks this process to end (SIGTERM): ends the tree and the loop.
  void OnSignal(int number);
  /// The process's exit code, valid after the loop has stopped: 0 after an orderly shutdown.
  int exit_code() const { return exit_code_; }

 private:
  void OnMessage(const v1::MasterMessage& message);
  void OnAssignment(const v1::Assignment& assignment);
  /// Finds the Python packages that programs get: tony.collective, the hook for stacks.
  void FindPackages();
  absl::Status CheckMachine();
  void OnLocalized(const absl::Status& status, const HadoopEnvironment& hadoop);
  void OnPrepare(const v1::Prepare& prepare);
  void OnStart(const v1::Start& start);
  void OnReattached(const v1::Reattached& reattached);
  void OnHeartbeatAnswer(const v1::HeartbeatAnswer& answer);
  void OnOpenTunnel(const v1::OpenTunnel& wish);
  /// Whether a tunnel may reach this port.
  absl::Status CheckPort(int port) const;
  absl::Status OpenExec(const v1::OpenTunnel& wish);
  void OnExecEvent(const os::KeeperEvent& event);
  void OnTakeStacks(const v1::TakeStacks& wish);
  void OnReadLog(const v1::ReadLog& wish);
  void OnShutdown(const v1::Shutdown& shutdown);
  /// Reads the stacks of the program, writes them beside its logs, and calls `done` with a sentence
  /// about them; empty if there are none.
  void KeepStacks(std::function<void(const std::string& note)> done);
  /// False if another ApplicationMaster has replaced the one with this incarnation.
  bool Obeys(int incarnation);
  v1::ExecutorMessage Hello();
  void OnTaskEnded(core::TaskExit exit);
  /// By a clock that nobody sets, as the ApplicationMaster dates the end.
  int64_t EndedAgoMillis() const;
  void OnTreeGone();

  void RegisterIfReady();
  void FailTask(core::TaskExit exit);
  void RunHorovodTask(const v1::Start& start, const core::ClusterSpec& cluster);
  /// `shell_command`: the argument of `bash -c`.
  void RunTask(const std::string& shell_command, const core::ClusterSpec& cluster);
  /// Ends a program of tony's own that does not answer; the task counts as lost.
  void EndHung(const std::string& why);
  void BeatLater();
  void Beat();
  /// Tells the keeper of a renewed lease.
  void ExtendLease();
  /// Whether the executor is in doubt, which begins when the lease has run out. While it is in
  /// doubt, no order is obeyed.
  bool NoticeDoubt();
  void ReportStrangers(bool program_runs);
  /// Reports a stall of the program's ranks, when it has changed.
  void ReportStall();
  /// Reports that something listens on the visualization port, or no longer does.
  void ReportVisualization();
  void OnUsage(core::TaskUsage usage);
  /// In a message of their own.
  void SendMeasurements();
  void ShutDown(int exit_code, const std::string& why);
  /// Ties this process to options_.tied_to_pid, if there is one.
  void TieToProcess();
  /// The process to which this one is tied has ended.
  void OnTieEnded();
  /// False if no threads can be started; the reason has then been printed and the loop is about to
  /// stop.
  bool StartThreads();
  /// Prints that the machine lacks what every executor needs.
  void ReportUnable(const absl::Status& why);
  void Leave();
  /// Called once each by the connection, the log readers and the commands' clients when they have
  /// received everything.
  void OnSaid();
  void Send(v1::ExecutorMessage message) { connection_->Send(std::move(message)); }

  EventLoop& loop_;
  os::Keeper& keeper_;
  const SystemClock clock_;
  const Options options_;
  const std::string working_folder_;
  const std::vector<std::string> environment_;
  ExecSessions exec_;
  TaskProcess process_;
  TaskPorts ports_;
  TaskStacks stacks_;
  TaskMeter meter_;
  SilenceWatch silence_;
  TaskLease lease_{clock_};
  v1::Assignment assignment_;
  RunIdentity identity_;        ///< identity of the epoch prepared last
  int incarnation_ = 0;         ///< newest incarnation of an ApplicationMaster heard of; 0: none
  core::input::HeldTask held_;  ///< what the hello of the next stream reports
  TimePoint ended_at_;          ///< when the last run ended
  std::string log_prefix_;      ///< of the files of the run started last
  std::vector<std::string> tool_folders_;  ///< PATH of that run
  TaskRun run_;  ///< the run in which the program was last started; its end is reported with it
  std::string stall_;                   ///< the stall that was reported last; empty: none
  UnsentMeasurements unsent_usages_;    ///< of this run
  bool visualization_listens_ = false;  ///< reported last for this run
  bool keep_ports_ = false;             ///< keep the reserved ports, because the epoch goes on
  bool started_ = false;                ///< a Start of the epoch prepared last was received
  bool localized_ = false;
  absl::Status localization_;            ///< the error of a failed unpacking
  core::Environment machine_variables_;  ///< variables for what this machine has: Hadoop, RDMA
  bool preparing_ = false;               ///< a Prepare was received, and Registered is not sent yet
  bool shutting_down_ = false;
  int unsaid_ = 0;  ///< how many of connection, log readers and commands have something to send
  int exit_code_ = 1;
  int signal_ = 0;    ///< the signal that began the shutdown; 0: none did
  std::string hung_;  ///< why a hung program is being ended; empty: it is not
  std::unique_ptr<rpc::GrpcThreads> grpc_threads_;
  std::unique_ptr<EventLoop::Handle> grpc_watch_;
  std::unique_ptr<Tie> tie_;     ///< null: this process is tied to no other
  std::string leaving_because_;  ///< why this executor shuts down
  std::unique_ptr<EventLoop::Handle> registry_deadline_;
  std::unique_ptr<EventLoop::Handle> heartbeat_timer_;
  std::unique_ptr<EventLoop::Handle> leave_deadline_;
  std::thread localizer_;
  std::unique_ptr<Tunnels> tunnels_;
  std::unique_ptr<LogAnswers> log_answers_;
  std::unique_ptr<HorovodTask> horovod_;
  std::unique_ptr<TaskFeed> feed_;
  std::unique_ptr<MasterConnection> connection_;  ///< last: its callbacks use the rest
};

}  // namespace tony::executor
