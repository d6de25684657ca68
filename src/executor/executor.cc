// One function per message or event, in the order of a container's life. Each of them checks the
// epoch and the state by itself, so that a message that comes late, or twice from two
// ApplicationMasters, does no harm.
#include "executor/executor.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/logging.h"
#include "common/process_setup.h"
#include "common/safe_text.h"
#include "core/runtime/hadoop_variables.h"
#include "executor/master/address_source.h"
#include "executor/setup/container_folders.h"
#include "executor/setup/localizer.h"
#include "executor/task/collective_counters.h"
#include "os/machine/machine.h"
#include "os/processes/process_tree.h"
#include "rpc/convert/convert.h"

namespace tony::executor {
namespace {

using std::chrono::milliseconds;
using Phase = core::input::HeldTask::Phase;

/// A connection that may be dead is trusted for this many leases, if that is longer than the
/// initial patience.
constexpr int kSilentLeases = 3;
/// Hadoop's command is a shell script that takes a fraction of a second; this is the limit when it
/// hangs.
constexpr milliseconds kHadoopPatience{10000};

/// Whether the message lets the task go on. An executor in doubt ignores such messages, because the
/// task may be another executor's by now.
bool IsOrder(const v1::MasterMessage& message) {
  return message.has_prepare() || message.has_start() || message.has_members();
}

/// Makes the program executable when the command is a file of the working folder, as TonY does.
void MakeCommandExecutable(const std::string& command, const std::string& working_folder) {
  const std::vector<std::string> words = absl::StrSplit(command, ' ', absl::SkipEmpty());
  if (words.empty() || words[0].front() == '/') return;
  const std::string path = absl::StrCat(working_folder, "/", words[0]);
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode))
    chmod(path.c_str(), info.st_mode | S_IXUSR);
}

std::vector<std::string> PathFolders(const std::vector<std::string>& environment) {
  const std::string path = Variable(environment, "PATH");
  if (path.empty()) return {"/usr/local/bin", "/usr/bin", "/bin"};
  return absl::StrSplit(path, ':', absl::SkipEmpty());
}

/// Null if no ApplicationMaster will follow the first one.
std::unique_ptr<AddressSource> NextMaster(const Options& options, EventLoop& loop) {
  if (!options.address_file.empty()) return std::make_unique<AddressFile>(options.address_file);
  if (options.address_command.empty()) return nullptr;
  return std::make_unique<AddressCommand>(options.address_command, loop);
}

}  // namespace

Executor::Executor(EventLoop& loop, os::Keeper& keeper, Options options, std::string working_folder,
                   std::vector<std::string> environment)
    : loop_(loop),
      keeper_(keeper),
      options_(std::move(options)),
      working_folder_(std::move(working_folder)),
      environment_(std::move(environment)),
      exec_(loop, keeper),
      process_(loop, keeper,
               {[this](pid_t pid) {
                  held_.phase = Phase::kRunning;
                  held_.pid = pid;
                  Send(StartedMessage(run_, pid));
                },
                [this](core::TaskExit exit) { OnTaskEnded(std::move(exit)); },
                [this] { OnTreeGone(); }, [this](const std::string& why) { ShutDown(1, why); },
                [this](const std::string& sentence) { Send(TaskNoteMessage(sentence)); },
                [this](const os::KeeperEvent& event) { OnExecEvent(event); },
                [this](auto end) { KeepStacks(std::move(end)); }}),
      stacks_(loop, keeper),
      meter_(loop, keeper,
             {[this] { return process_.active(); },
              [this](const core::TaskUsage& usage) { OnUsage(usage); },
              [this] {
                ReportStrangers(/*program_runs=*/true);
                ReportStall();
                stacks_.Sweep();
              }}),
      silence_(options_.silence_note) {
  identity_.container_id = options_.container_id;
}

// The connection goes first, because its callbacks use the other members. The thread captures
// `this`, so it is joined before any member is destroyed.
Executor::~Executor() {
  connection_.reset();
  if (localizer_.joinable()) localizer_.join();
}

void Executor::Start(const rpc::Credentials& credentials) {
  if (!StartThreads()) return;
  tunnels_ =
      std::make_unique<Tunnels>(loop_, credentials, LogFolder(environment_, working_folder_));
  log_answers_ = std::make_unique<LogAnswers>(
      loop_, clock_, LogFolder(environment_, working_folder_), [this](v1::LogLines lines) {
        v1::ExecutorMessage message;
        *message.mutable_log_lines() = std::move(lines);
        Send(std::move(message));
      });
  horovod_ = std::make_unique<HorovodTask>(
      loop_,
      HorovodTask::Callbacks{[this](v1::ExecutorMessage message) { Send(std::move(message)); },
                             [this] { return tunnels_->DialerTo(connection_->address()); },
                             [this] { return lease_.expired(); },
                             [this](const std::string& why) { EndHung(why); }});
  feed_ = std::make_unique<TaskFeed>(
      loop_, credentials, [this](v1::ExecutorMessage message) { Send(std::move(message)); });
  connection_ = std::make_unique<MasterConnection>(
      loop_,
      MasterConnection::Options{options_.master_address, credentials, NextMaster(options_, loop_)},
      MasterConnection::Callbacks{[this] { return Hello(); },
                                  [this](const v1::MasterMessage& message) { OnMessage(message); },
                                  [this](const std::string& why) {
                                    ShutDown(1,
                                             absl::StrCat("there is no ApplicationMaster: ", why));
                                  },
                                  [this] { OnSaid(); }});
  connection_->Open();
  TieToProcess();
  if (options_.registry_timeout > milliseconds::zero()) {
    registry_deadline_ = loop_.After(options_.registry_timeout, [this] {
      ShutDown(1, "the ApplicationMaster did not answer (tony.task.executor.registry-timeout-sec)");
    });
  }
}

// A machine that gives no more threads is reported with an exit code of its own (kExitUnable), at
// the start as well as later: the program has no part in that failure.
bool Executor::StartThreads() {
  absl::StatusOr<std::unique_ptr<rpc::GrpcThreads>> threads = rpc::GrpcThreads::Start();
  if (!threads.ok()) {
    ReportUnable(threads.status());
    exit_code_ = kExitUnable;
    loop_.Post([this] { loop_.Stop(); });
    return false;
  }
  grpc_threads_ = *std::move(threads);
  grpc_watch_ = grpc_threads_->Watch(loop_, [this](const absl::Status& why) {
    ReportUnable(why);
    ShutDown(kExitUnable, std::string(why.message()));
  });
  return true;
}

void Executor::ReportUnable(const absl::Status& why) {
  // The same form as in main(): whoever started the executor quotes the last line of its log.
  (void)PrintForPeople(STDERR_FILENO,
                       absl::StrCat("tony-executor: ", std::string(why.message()), "\n"));
}

v1::ExecutorMessage Executor::Hello() {
  lease_.SaidHello();
  if (feed_ != nullptr) feed_->OnNewStream();  // null: during the shutdown
  HelloContents contents{options_.container_id, keeper_.containment_name(), os::BootId(), {}};
  if (incarnation_ > 0) {
    // Each stream is told anew how long ago the end was: the one before may not have been heard.
    if (held_.phase == Phase::kEnded) held_.exit.ended_ago_millis = EndedAgoMillis();
    contents.held = held_;
  }
  return HelloMessage(contents);
}

void Executor::OnMessage(const v1::MasterMessage& message) {
  // Answers to heartbeats are taken during the shutdown too, because the lease lasts to the end.
  if (shutting_down_ && !message.has_heartbeat_answer()) {
    return LogDebug("a message during the shutdown is ignored",
                    {{"kind", static_cast<int>(message.body_case())}});
  }
  if (IsOrder(message) && NoticeDoubt()) return;
  switch (message.body_case()) {
    case v1::MasterMessage::kAssignment:
      return OnAssignment(message.assignment());
    case v1::MasterMessage::kReattached:
      return OnReattached(message.reattached());
    case v1::MasterMessage::kPrepare:
      return OnPrepare(message.prepare());
    case v1::MasterMessage::kStart:
      return OnStart(message.start());
    case v1::MasterMessage::kShutdown:
      return OnShutdown(message.shutdown());
    case v1::MasterMessage::kHeartbeatAnswer:
      return OnHeartbeatAnswer(message.heartbeat_answer());
    case v1::MasterMessage::kOpenTunnel:
      return OnOpenTunnel(message.open_tunnel());
    case v1::MasterMessage::kMembers:
      return horovod_->TakeMembers(message.members());
    case v1::MasterMessage::kFeed:
      return feed_->OnOrder(message.feed());
    case v1::MasterMessage::kTakeStacks:
      return OnTakeStacks(message.take_stacks());
    case v1::MasterMessage::kReadLog:
      return OnReadLog(message.read_log());
    case v1::MasterMessage::BODY_NOT_SET:
      LogWarning("a message of an unknown kind was left out");
  }
}

// Incarnations only grow. A smaller one comes from an ApplicationMaster that has been replaced but
// does not know it yet; its stream is dropped, and the next one is looked up.
bool Executor::Obeys(int incarnation) {
  if (incarnation < incarnation_) {
    LogWarning("an ApplicationMaster that was replaced is refused",
               {{"incarnation", incarnation}, {"newest", incarnation_}});
    connection_->Refuse();
    return false;
  }
  incarnation_ = incarnation;
  return true;
}

void Executor::OnReattached(const v1::Reattached& reattached) {
  if (!Obeys(reattached.incarnation())) return;
  if (lease_.RenewFromHello()) ExtendLease();
  lease_.Confirm();
  LogInfo(absl::StrCat("attached again, to ApplicationMaster ", reattached.incarnation()),
          {{"epoch", identity_.epoch}, {"peer", connection_->address()}});
  horovod_->OnReattached();
  feed_->OnAttached();
  if (!stall_.empty()) Send(StallMessage(run_, stall_));
  if (const auto& silence = silence_.silence(); silence) {
    Send(SilentMessage(run_, silence->millis, silence->cpu_share));
  }
  if (ports_.visualization_port() != 0) Send(VisualizationMessage(run_, visualization_listens_));
}

// The assignment is the answer to the hello, so it renews the lease from the time of the hello.
// Heartbeats and measurements start before unpacking, which may take minutes.
void Executor::OnAssignment(const v1::Assignment& assignment) {
  if (!Obeys(assignment.incarnation())) return;
  LogInfo(absl::StrCat("assigned to ", rpc::FromProto(assignment.task()).ToString()),
          {{"job", assignment.job_id()},
           {"container", options_.container_id},
           {"peer", connection_->address()}});
  assignment_ = assignment;
  connection_->set_patience(
      {.gone = milliseconds(assignment.reattach_ms()),
       .silent = milliseconds(assignment.silence_ms()),
       .sign = std::max<Duration>(MasterConnection::Patience().sign,
                                  milliseconds(assignment.lease_ms()) * kSilentLeases)});
  registry_deadline_.reset();
  lease_.set_length(milliseconds(assignment.lease_ms()));
  if (lease_.RenewFromHello()) ExtendLease();
  BeatLater();
  unsent_usages_.set_pauses({.heartbeats = milliseconds(assignment.heartbeat_interval_ms()),
                             .measurements = milliseconds(assignment.measurement_pause_ms())});
  meter_.Start({.interval = milliseconds(std::max(100, assignment.metrics_interval_ms())),
                .gpus = {.gpus = {assignment.gpus().begin(), assignment.gpus().end()},
                         .library = GpuLibraryBeside(assignment.gpu_tool()),
                         .tool = assignment.gpu_tool(),
                         .tool_timeout = milliseconds(assignment.gpu_tool_timeout_ms())}});
  FindPackages();
  absl::Status place = CheckMachine();
  if (place.ok()) place = feed_->Open(assignment_, working_folder_, connection_->address());
  feed_->OnAttached();
  if (!place.ok()) return OnLocalized(place, {});
  std::vector<v1::Archive> archives(assignment.archives().begin(), assignment.archives().end());
  core::Environment of_job = EnvironmentOfJob(environment_, assignment_);
  if (archives.empty() && !core::IsHadoopConfigured(of_job)) {
    OnLocalized(absl::OkStatus(), {});
    return;
  }
  localizer_ = std::thread([this, archives = std::move(archives), of_job = std::move(of_job)] {
    const std::string cache = CacheFolder(assignment_, environment_, working_folder_);
    const absl::Status status =
        Localize(archives, working_folder_, cache,
                 milliseconds(assignment_.localization_timeout_ms()), PathFolders(environment_));
    // Hadoop is looked for after unpacking, because files of the job take precedence.
    const HadoopEnvironment hadoop = FindHadoop(of_job, cache, working_folder_, kHadoopPatience);
    loop_.Post([this, status, hadoop] { OnLocalized(status, hadoop); });
  });
}

void Executor::OnLocalized(const absl::Status& status, const HadoopEnvironment& hadoop) {
  machine_variables_.insert(hadoop.variables.begin(), hadoop.variables.end());
  for (const std::string& note : hadoop.notes) LogInfo(note);
  if (!status.ok())
    LogWarning("the working folder cannot be laid out", {{"why", status.message()}});
  localized_ = true;
  localization_ = status;
  if (status.ok()) MakeCommandExecutable(assignment_.command(), working_folder_);
  RegisterIfReady();
}

// A Prepare ends the program that runs. The executor registers only when the keeper has
// reported the whole tree gone, so nothing of the old run can reach the new one.
void Executor::OnPrepare(const v1::Prepare& prepare) {
  LogInfo("preparing", {{"epoch", prepare.epoch()},
                        {"attempt", prepare.attempt()},
                        {"keep_ports", prepare.keep_ports() ? "yes" : "no"}});
  preparing_ = true;
  held_ = {};
  held_.epoch = prepare.epoch();
  held_.attempt = prepare.attempt();
  keep_ports_ = prepare.keep_ports();
  started_ = false;
  identity_.epoch = prepare.epoch();
  identity_.attempt = prepare.attempt();
  horovod_->Stop();
  if (process_.active()) {
    process_.Kill(milliseconds(assignment_.kill_grace_ms()));
  } else {
    RegisterIfReady();
  }
}

void Executor::RegisterIfReady() {
  if (!preparing_ || !localized_ || process_.active() || shutting_down_) return;
  preparing_ = false;
  if (!localization_.ok()) {
    // The code of the error does not matter: an archive that exceeds our limits exhausts no
    // resource.
    return FailTask(NotStarted(absl::InvalidArgumentError(localization_.message())));
  }
  if (!keep_ports_) {
    const absl::Status reserved = ports_.Reserve(assignment_.wants_visualization_port());
    if (!reserved.ok()) return FailTask(NotStarted(reserved));
  }
  identity_.visualization_port = ports_.visualization_port();
  held_.phase = Phase::kRegistered;
  held_.port = ports_.task_port();
  held_.visualization_port = ports_.visualization_port();
  Send(RegisteredMessage({identity_.epoch, identity_.attempt}, ports_.task_port(),
                         ports_.visualization_port()));
  LogDebug(
      "registered",
      {{"epoch", identity_.epoch}, {"attempt", identity_.attempt}, {"port", ports_.task_port()}});
}

void Executor::FailTask(core::TaskExit exit) {
  run_ = {identity_.epoch, identity_.attempt};
  LogWarning("the program is not started", {{"epoch", run_.epoch}, {"attempt", run_.attempt}});
  OnTaskEnded(std::move(exit));
}

void Executor::OnStart(const v1::Start& start) {
  // Start may come twice, once from each of two ApplicationMasters.
  if (start.epoch() != identity_.epoch || preparing_ || process_.active() || started_) {
    return LogDebug("a start that comes late or twice is ignored",
                    {{"epoch", start.epoch()}, {"own_epoch", identity_.epoch}});
  }
  started_ = true;
  v1::ClusterSpec spec;
  if (!spec.ParseFromString(start.cluster_spec())) {
    return FailTask(NotStarted(
        absl::InternalError("the cluster spec of the ApplicationMaster cannot be read")));
  }
  if (assignment_.has_horovod()) return RunHorovodTask(start, rpc::FromProto(spec));
  RunTask(assignment_.command(), rpc::FromProto(spec));
}

void Executor::RunHorovodTask(const v1::Start& start, const core::ClusterSpec& cluster) {
  horovod_->Prepare(assignment_, start, cluster, identity_.attempt, working_folder_,
                    ports_.task_port(), [this, cluster](const absl::StatusOr<HorovodStart>& ready) {
                      if (!ready.ok()) return FailTask(NotStarted(ready.status()));
                      identity_.horovod = ready->place;
                      identity_.driver_output_folder = ready->driver_output_folder;
                      RunTask(ready->command, cluster);
                    });
}

// The ports' sockets are released only here, immediately before the spawn, and only for servers
// that set neither SO_REUSEADDR nor SO_REUSEPORT: from then on another process could take the
// ports.
void Executor::RunTask(const std::string& shell_command, const core::ClusterSpec& cluster) {
  TaskProcess::Command command;
  command.shell_command = shell_command;
  identity_.counters_folder = FreshCountersFolder(working_folder_);
  command.log_prefix = LogPrefix(assignment_, identity_.attempt, environment_, working_folder_);
  identity_.report_pipe = ReportPipePath(assignment_, identity_.attempt, working_folder_);
  command.report_pipe = identity_.report_pipe;
  command.progress_pattern = assignment_.progress_pattern();
  identity_.feed_socket = feed_->program_path();
  if (!identity_.stacks_package.empty()) {
    identity_.stacks_folder =
        stacks_.BeginRun(StacksFolder(assignment_, identity_.attempt, working_folder_));
  }
  command.environment = TaskEnvironment(environment_, assignment_, identity_, cluster,
                                        machine_variables_, working_folder_);
  command.working_folder = working_folder_;
  log_prefix_ = command.log_prefix;
  tool_folders_ = PathFolders(command.environment);
  // An assignment without limits means the default limits.
  if (assignment_.log_segment_bytes() > 0 && assignment_.log_total_bytes() > 0) {
    command.logs.limits = {assignment_.log_segment_bytes(), assignment_.log_total_bytes()};
  }
  command.logs.redact.assign(assignment_.log_redact().begin(), assignment_.log_redact().end());
  command.timeout = milliseconds(assignment_.execution_timeout_ms());
  command.kill_grace = milliseconds(assignment_.kill_grace_ms());
  command.tail_lines = assignment_.tail_lines();
  command.finds_parameters = assignment_.reports_model_parameters();
  command.memory_limit_bytes = options_.containment.memory_bytes;
  command.memory_key = absl::StrCat("tony.", assignment_.task().type(), ".memory");
  command.framework = assignment_.framework();
  command.reserved_ports = {ports_.task_port()};
  if (ports_.visualization_port() != 0) {
    command.reserved_ports.push_back(ports_.visualization_port());
  }
  if (assignment_.release_ports()) ports_.ReleaseSockets();
  meter_.Reset(identity_.counters_folder);
  unsent_usages_.Clear();
  stall_.clear();
  visualization_listens_ = false;
  silence_.Reset(clock_.Now());
  hung_.clear();
  LogDebug("starting the program", {{"epoch", identity_.epoch}, {"attempt", identity_.attempt}});
  run_ = {identity_.epoch, identity_.attempt};
  exec_.OnTaskStart({rpc::FromProto(assignment_.task()).ToString(), command.environment,
                     working_folder_, command.kill_grace});
  feed_->OnProgramStarted();
  process_.Run(command);
}

// The cause of the end is corrected here: a program that was killed because it hung, or because a
// signal ended the executor, was not stopped by the job. It counts as lost, at the expense of the
// infrastructure.
void Executor::OnTaskEnded(core::TaskExit exit) {
  ended_at_ = clock_.Now();
  if (const std::string why = std::exchange(hung_, "");
      !why.empty() && exit.cause == core::TaskExit::Cause::kStopped) {
    exit.cause = core::TaskExit::Cause::kLost;
    exit.message = why;
  }
  if (signal_ != 0 && exit.cause == core::TaskExit::Cause::kStopped) {
    // The ApplicationMaster did not end the executor (and the program with it); somebody else did.
    exit.cause = core::TaskExit::Cause::kLost;
    exit.message = absl::StrCat("signal ", signal_, " told its executor to end");
  }
  LogInfo(absl::StrCat("the program ", exit.Describe()),
          {{"epoch", run_.epoch}, {"attempt", run_.attempt}});
  horovod_->OnEnded();
  exec_.OnTaskEnded();
  feed_->OnProgramEnded(exit.Describe());
  if (!preparing_) {
    held_.phase = Phase::kEnded;
    held_.exit = exit;
  }
  // A stranger on the port explains most failures to bind, and it can no longer be seen in the next
  // epoch, which has other ports.
  if (!exit.ok()) ReportStrangers(/*program_runs=*/false);
  if (auto usage = meter_.AtEnd(process_.progress())) {
    usage->printed_bytes = process_.printed_bytes();
    unsent_usages_.Add(*std::move(usage), clock_.Now());
  }
  SendMeasurements();
  exit.ended_ago_millis = EndedAgoMillis();
  Send(EndedMessage(run_, exit));
}

int64_t Executor::EndedAgoMillis() const { return (clock_.Now() - ended_at_) / milliseconds(1); }

void Executor::OnTreeGone() {
  stacks_.EndRun();
  if (shutting_down_) {
    Leave();
  } else {
    RegisterIfReady();
  }
}

void Executor::OnSignal(int number) {
  if (!shutting_down_) signal_ = number;
  ShutDown(1, absl::StrCat("signal ", number));
}

void Executor::ShutDown(int exit_code, const std::string& why) {
  if (shutting_down_) return;
  LogInfo(absl::StrCat("shutting down: ", why));
  shutting_down_ = true;
  leaving_because_ = why;
  exit_code_ = exit_code;
  horovod_->Stop();
  // Heartbeats continue and keep the lease alive; without a lease the program would be suspended
  // and have no grace period.
  meter_.Stop();
  process_.Kill(milliseconds(assignment_.kill_grace_ms()));
}

}  // namespace tony::executor
