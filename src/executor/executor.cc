// The executor's reactions, in the order of a container's life.
#include "executor/executor.h"

#include <sys/stat.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/logging.h"
#include "executor/localizer.h"
#include "os/process_tree.h"
#include "rpc/convert.h"

namespace tony::executor {
namespace {

using std::chrono::milliseconds;

/// How long the last messages may take to leave.
constexpr milliseconds kLeavePatience{1000};

/// TonY makes the program executable when its command is a file of the working folder.
void MakeCommandExecutable(const std::string& command, const std::string& working_folder) {
  const std::vector<std::string> words = absl::StrSplit(command, ' ', absl::SkipEmpty());
  if (words.empty() || words[0].front() == '/') return;
  const std::string path = absl::StrCat(working_folder, "/", words[0]);
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode))
    chmod(path.c_str(), info.st_mode | S_IXUSR);
}

std::vector<std::string> PathFolders(const std::vector<std::string>& environment) {
  for (const std::string& variable : environment) {
    if (variable.rfind("PATH=", 0) == 0)
      return absl::StrSplit(variable.substr(5), ':', absl::SkipEmpty());
  }
  return {"/usr/local/bin", "/usr/bin", "/bin"};
}

}  // namespace

Executor::Executor(EventLoop& loop, os::Keeper& keeper, Options options, std::string working_folder,
                   std::vector<std::string> environment)
    : loop_(loop),
      keeper_(keeper),
      options_(std::move(options)),
      working_folder_(std::move(working_folder)),
      environment_(std::move(environment)),
      process_(loop, keeper,
               {[this](pid_t pid) {
                  v1::ExecutorMessage message;
                  message.mutable_task_started()->set_epoch(run_epoch_);
                  message.mutable_task_started()->set_pid(pid);
                  Send(std::move(message));
                },
                [this](core::TaskExit exit) { OnTaskEnded(std::move(exit)); },
                [this] { OnTreeGone(); }, [this](const std::string& why) { ShutDown(1, why); }}),
      sampler_(keeper.pid()) {
  identity_.container_id = options_.container_id;
}

Executor::~Executor() {
  session_.reset();
  if (localizer_.joinable()) localizer_.join();
  if (gpu_reader_.joinable()) gpu_reader_.join();
}

void Executor::Start(const rpc::Credentials& credentials) {
  session_ = std::make_unique<rpc::ExecutorSession>(
      options_.master_address, credentials,
      rpc::ExecutorSession::Callbacks{[this](v1::MasterMessage message) {
                                        loop_.Post([this, message = std::move(message)] {
                                          OnMessage(message);
                                        });
                                      },
                                      [this](absl::Status status) {
                                        loop_.Post([this, status] { OnSessionClosed(status); });
                                      }});
  v1::ExecutorMessage message;
  message.mutable_hello()->set_container_id(options_.container_id);
  message.mutable_hello()->set_containment(keeper_.containment_name());
  Send(std::move(message));
  if (options_.registry_timeout > milliseconds::zero()) {
    registry_deadline_ = loop_.After(options_.registry_timeout, [this] {
      ShutDown(1, "the ApplicationMaster did not answer (tony.task.executor.registry-timeout-sec)");
    });
  }
}

void Executor::OnMessage(const v1::MasterMessage& message) {
  if (shutting_down_) return;
  switch (message.body_case()) {
    case v1::MasterMessage::kAssignment:
      return OnAssignment(message.assignment());
    case v1::MasterMessage::kPrepare:
      return OnPrepare(message.prepare());
    case v1::MasterMessage::kStart:
      return OnStart(message.start());
    case v1::MasterMessage::kShutdown:
      return ShutDown(0, message.shutdown().reason());
    case v1::MasterMessage::BODY_NOT_SET:
      LogWarning("a message of an unknown kind was left out");
  }
}

void Executor::OnAssignment(const v1::Assignment& assignment) {
  LogInfo(absl::StrCat("assigned to ", assignment.task().type(), ":", assignment.task().index(),
                       " of job ", assignment.job_id()));
  assignment_ = assignment;
  registry_deadline_.reset();
  BeatLater();
  Measure();
  std::vector<v1::Archive> archives(assignment.archives().begin(), assignment.archives().end());
  if (archives.empty()) {
    OnLocalized(absl::OkStatus());
    return;
  }
  localizer_ = std::thread([this, archives = std::move(archives)] {
    const absl::Status status =
        Localize(archives, working_folder_, assignment_.cache_folder(), PathFolders(environment_));
    loop_.Post([this, status] { OnLocalized(status); });
  });
}

void Executor::OnLocalized(const absl::Status& status) {
  localized_ = true;
  localization_ = status;
  if (status.ok()) MakeCommandExecutable(assignment_.command(), working_folder_);
  RegisterIfReady();
}

void Executor::OnPrepare(const v1::Prepare& prepare) {
  LogInfo(absl::StrCat("preparing for epoch ", prepare.epoch(), ", attempt ", prepare.attempt()));
  preparing_ = true;
  identity_.epoch = prepare.epoch();
  identity_.attempt = prepare.attempt();
  if (process_.active()) {
    process_.Kill(milliseconds(assignment_.kill_grace_ms()));
  } else {
    RegisterIfReady();
  }
}

void Executor::RegisterIfReady() {
  if (!preparing_ || !localized_ || process_.active() || shutting_down_) return;
  preparing_ = false;
  if (!localization_.ok()) return FailTask(std::string(localization_.message()));
  const absl::Status reserved = ports_.Reserve(assignment_.wants_visualization_port());
  if (!reserved.ok()) return FailTask(std::string(reserved.message()));
  identity_.visualization_port = ports_.visualization_port();
  v1::ExecutorMessage message;
  v1::Registered* registered = message.mutable_registered();
  registered->set_epoch(identity_.epoch);
  registered->set_port(ports_.task_port());
  registered->set_visualization_port(ports_.visualization_port());
  Send(std::move(message));
}

void Executor::FailTask(const std::string& message) {
  run_epoch_ = identity_.epoch;
  OnTaskEnded({core::TaskExit::Cause::kNotStarted, 0, 0, message, {}});
}

void Executor::OnStart(const v1::Start& start) {
  if (start.epoch() != identity_.epoch || process_.active()) return;
  v1::ClusterSpec spec;
  if (!spec.ParseFromString(start.cluster_spec())) {
    return FailTask("the cluster spec of the ApplicationMaster cannot be read");
  }
  RunTask(rpc::FromProto(spec));
}

void Executor::RunTask(const core::ClusterSpec& cluster) {
  TaskProcess::Command command;
  command.shell_command = assignment_.command();
  command.environment =
      TaskEnvironment(environment_, assignment_, identity_, cluster, working_folder_);
  command.working_folder = working_folder_;
  command.log_folder = absl::StrCat(assignment_.log_folder(), "/attempt-", identity_.attempt);
  command.timeout = milliseconds(assignment_.execution_timeout_ms());
  command.kill_grace = milliseconds(assignment_.kill_grace_ms());
  command.tail_lines = assignment_.tail_lines();
  if (assignment_.release_ports()) ports_.ReleaseSockets();
  sampler_.Reset();
  run_epoch_ = identity_.epoch;
  process_.Run(command);
}

void Executor::OnTaskEnded(core::TaskExit exit) {
  LogInfo(absl::StrCat("the program ", exit.Describe()));
  // A stranger on the port explains most failures to bind, and is gone from sight with the next
  // epoch.
  if (!exit.ok()) ReportStrangers();
  v1::ExecutorMessage message;
  message.mutable_task_ended()->set_epoch(run_epoch_);
  *message.mutable_task_ended()->mutable_exit() = rpc::ToProto(exit);
  Send(std::move(message));
}

void Executor::OnTreeGone() {
  if (shutting_down_) {
    Leave();
  } else {
    RegisterIfReady();
  }
}

void Executor::OnSessionClosed(const absl::Status& status) {
  session_over_ = true;
  if (leave_deadline_) loop_.Stop();
  if (shutting_down_) return;
  ShutDown(1, absl::StrCat("the stream to the ApplicationMaster is over: ", status.ToString()));
}

void Executor::OnSignal(int number) { ShutDown(1, absl::StrCat("signal ", number)); }

void Executor::ShutDown(int exit_code, const std::string& why) {
  if (shutting_down_) return;
  LogInfo(absl::StrCat("shutting down: ", why));
  shutting_down_ = true;
  exit_code_ = exit_code;
  heartbeat_timer_.reset();
  metrics_timer_.reset();
  process_.Kill(milliseconds(assignment_.kill_grace_ms()));
}

void Executor::Leave() {
  if (session_over_) {
    loop_.Stop();
    return;
  }
  // What is queued, the task's end say, is to arrive; an ApplicationMaster that does not take it is
  // not waited for.
  session_->Close();
  leave_deadline_ = loop_.After(kLeavePatience, [this] { loop_.Stop(); });
}

}  // namespace tony::executor
