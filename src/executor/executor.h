// The TaskExecutor: does in its container what the ApplicationMaster says, and tells what became of
// it.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/job/job_input.h"
#include "executor/horovod/horovod_task.h"
#include "executor/master/master_connection.h"
#include "executor/master/tunnels.h"
#include "executor/options.h"
#include "executor/place/hadoop_environment.h"
#include "executor/task/task_environment.h"
#include "executor/task/task_ports.h"
#include "executor/task/task_process.h"
#include "executor/task/usage_sampler.h"
#include "os/containment/keeper.h"
#include "rpc/grpc/grpc_threads.h"
#include "rpc/security/credentials.h"
#include "tony/v1/application_master.pb.h"

namespace tony::executor {

/// How one container lives:
///
///   hello ─▶ assignment: unpack ─▶ prepare(epoch): end the old tree, reserve ports ─▶ registered
///   ─▶ start(spec): spawn ─▶ started ─▶ ended ─▶ (prepare of the next epoch | shutdown)
///
/// Unpacking happens once, on a thread of its own; everything else on the event loop. When the
/// stream to the ApplicationMaster breaks, the program runs on: the next stream, maybe to another
/// ApplicationMaster, begins with what the executor is at. When there is none in time, the process
/// tree is ended and so is the executor.
///
/// Each sign of life that is answered is a lease: for so long after it was given no
/// ApplicationMaster gives the task away. The keeper suspends the program when it has run out. An
/// executor that finds so, since it was stopped or starved or nobody answers, obeys nothing that
/// may have been on its way since then. When it is answered in time again, it says hello again,
/// and hears what it is to do, or that it is to go. Not thread safe: owned by the loop.
class Executor {
 public:
  /// `keeper` was started before any thread; it and `loop` must outlive this. `environment` is the
  /// container's own.
  Executor(EventLoop& loop, os::Keeper& keeper, Options options, std::string working_folder,
           std::vector<std::string> environment);
  ~Executor();

  /// Connects; then the loop is to be run.
  void Start(const rpc::Credentials& credentials);
  /// The process was told to end (SIGTERM): ends the tree and the loop.
  void OnSignal(int number);
  /// After the loop has stopped: 0 after an orderly shutdown.
  int exit_code() const { return exit_code_; }

 private:
  void OnMessage(const v1::MasterMessage& message);
  void OnAssignment(const v1::Assignment& assignment);
  /// For programs that use tony.collective.
  void FindPackage();
  void OnLocalized(const absl::Status& status, const HadoopEnvironment& hadoop);
  void OnPrepare(const v1::Prepare& prepare);
  void OnStart(const v1::Start& start);
  void OnReattached(const v1::Reattached& reattached);
  void OnHeartbeatAnswer(const v1::HeartbeatAnswer& answer);
  void OnOpenTunnel(const v1::OpenTunnel& wish);
  /// False for an ApplicationMaster that another one has replaced.
  bool Obeys(int incarnation);
  v1::ExecutorMessage Hello();
  void OnTaskEnded(core::TaskExit exit);
  void OnTreeGone();

  void RegisterIfReady();
  void FailTask(core::TaskExit exit);
  void RunHorovodTask(const v1::Start& start, const core::ClusterSpec& cluster);
  /// `shell_command`: for `bash -c`.
  void RunTask(const std::string& shell_command, const core::ClusterSpec& cluster);
  /// Ends a program of tony's that does not answer: it counts as lost.
  void EndHung(const std::string& why);
  void BeatLater();
  void Beat();
  /// A sign of life that was given at `at` was answered.
  void RenewLease(TimePoint at);
  bool LeaseExpired() const { return clock_.Now() >= lease_end_; }
  /// Whether there is doubt, which begins when the lease has run out: then no order is obeyed.
  bool NoticeDoubt();
  void Measure();
  void MeasureWithGpus();
  void ReportStrangers();
  void ShutDown(int exit_code, const std::string& why);
  /// False: it may start no threads, and has said so and is ending.
  bool StartThreads();
  /// The machine does not give what every executor needs.
  void SayUnable(const absl::Status& why);
  void Leave();
  /// The ApplicationMaster, or those who read the logs, have heard all.
  void OnSaid();
  void Send(v1::ExecutorMessage message) { connection_->Send(std::move(message)); }

  EventLoop& loop_;
  os::Keeper& keeper_;
  const SystemClock clock_;
  const Options options_;
  const std::string working_folder_;
  const std::vector<std::string> environment_;
  TaskProcess process_;
  TaskPorts ports_;
  UsageSampler sampler_;
  v1::Assignment assignment_;
  RunIdentity identity_;        ///< of the epoch that was prepared last
  int incarnation_ = 0;         ///< newest of an ApplicationMaster that was heard; 0: none
  core::input::HeldTask held_;  ///< what the next stream begins with
  TimePoint said_hello_at_;     ///< on the newest stream
  TimePoint renewed_from_;      ///< when the sign of life was given from which the lease counts
  TimePoint lease_end_ = TimePoint::max();
  TimePoint beat_at_;  ///< when the newest one was given
  /// Whether it was heard since the lease ran out last that the task is this executor's own.
  enum class Doubt { kNone, kInDoubt, kAsked } doubt_ = Doubt::kNone;
  /// In which the program was started last: its end belongs to that one.
  struct {
    int epoch = 0;
    int attempt = 0;
  } run_;
  bool keep_ports_ = false;  ///< of the epoch that goes on
  bool started_ = false;     ///< told to start in the epoch that was prepared last
  bool localized_ = false;
  absl::Status localization_;  ///< why unpacking failed
  core::Environment hadoop_;   ///< what the program needs to read HDFS by itself
  bool preparing_ = false;     ///< told to register, and not done yet
  bool shutting_down_ = false;
  int unsaid_ = 0;  ///< to how many of the two there is something left to say
  int exit_code_ = 1;
  int signal_ = 0;    ///< that began the shutdown; 0: none did
  std::string hung_;  ///< why the program is being ended; empty: it is not for that
  bool measuring_gpus_ = false;
  std::unique_ptr<rpc::GrpcThreads> grpc_threads_;
  std::unique_ptr<EventLoop::Handle> grpc_watch_;
  std::unique_ptr<EventLoop::Handle> registry_deadline_;
  std::unique_ptr<EventLoop::Handle> heartbeat_timer_;
  std::unique_ptr<EventLoop::Handle> metrics_timer_;
  std::unique_ptr<EventLoop::Handle> leave_deadline_;
  std::thread localizer_;
  std::thread gpu_reader_;
  std::unique_ptr<Tunnels> tunnels_;
  std::unique_ptr<HorovodTask> horovod_;
  std::unique_ptr<MasterConnection> connection_;  ///< last: its callbacks use the rest
};

}  // namespace tony::executor
