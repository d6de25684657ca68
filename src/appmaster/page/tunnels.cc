// Looks the wish up in the task table, asks the executor through its stream, and sets a deadline
// for the answer.
#include "appmaster/page/tunnels.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/port_number.h"
#include "common/safe_text.h"
#include "common/status_macros.h"

namespace tony::appmaster {
namespace {

/// The longest name of a client in a note.
constexpr size_t kMostWhoBytes = 200;

/// The note names no arguments, because they may hold secrets.
std::string ExecNote(const rpc::TunnelRelay::Wish& wish) {
  const std::string who = SafeText(wish.exec->who().substr(0, kMostWhoBytes));
  return absl::StrCat(who.empty() ? "somebody" : who, " runs a ",
                      wish.exec->arguments().empty() ? "shell" : "command", " in ",
                      wish.task.ToString(), " (tony exec)");
}

}  // namespace

absl::StatusOr<const core::Task*> FindRunningTask(const core::TaskTable& tasks,
                                                  const core::TaskId& id) {
  const core::Task* const task = tasks.Find(id);
  if (task == nullptr) {
    return absl::NotFoundError(absl::StrCat("the job has no task ", id.ToString()));
  }
  if (task->state != core::TaskState::kRunning || !task->container) {
    return absl::FailedPreconditionError(absl::StrCat(
        id.ToString(), " is ", core::TaskStateName(task->state), ", so nothing runs there"));
  }
  if (!task->attached()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the executor of ", id.ToString(), " has no connection at the moment"));
  }
  return task;
}

absl::StatusOr<std::string> FindExecContainer(const core::JobMachine& machine,
                                              const core::TaskId& id) {
  if (!machine.job().allows_exec) {
    return absl::PermissionDeniedError(
        "the job allows no commands: tony.task.exec.enabled is false");
  }
  TONY_ASSIGN_OR_RETURN(const core::Task* const task, FindRunningTask(machine.tasks(), id));
  return task->container->id;
}

absl::StatusOr<TunnelTarget> FindTunnelTarget(const core::TaskTable& tasks,
                                              const rpc::TunnelRelay::Wish& wish) {
  const core::TaskId& id = wish.task;
  if (wish.by_executor && id.type != core::kDriverType) {
    return absl::PermissionDeniedError(
        absl::StrCat("an executor may reach the job's driver, not ", id.ToString()));
  }
  TONY_ASSIGN_OR_RETURN(const core::Task* const task, FindRunningTask(tasks, id));
  const int wanted = wish.port != 0                  ? wish.port
                     : task->visualization_port != 0 ? task->visualization_port
                                                     : task->port;
  const bool registered = wanted == task->port || wanted == task->visualization_port;
  if (wanted <= 0 || wanted > kLargestPort || (wish.by_executor && !registered)) {
    return absl::NotFoundError(absl::StrCat(
        "port ", wanted, " is none that ", id.ToString(), " has registered; it has ", task->port,
        task->visualization_port != 0 ? absl::StrCat(" and ", task->visualization_port) : ""));
  }
  return TunnelTarget{task->container->id, wanted};
}

absl::Status CheckLogContainer(const core::TaskTable& tasks, const std::string& id) {
  const core::Task* const task = tasks.FindByContainer(id);
  if (task == nullptr) {
    return absl::NotFoundError(absl::StrCat("the job does not hold container ", id));
  }
  if (!task->attached()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the executor of ", task->id.ToString(), " has no connection at the moment"));
  }
  return absl::OkStatus();
}

void Tunnels::Take(const rpc::TunnelRelay::Wish& wish) {
  const absl::Status asked = Ask(wish);
  if (!asked.ok()) {
    LogDebug("a tunnel is refused",
             {{"tunnel", wish.tunnel}, {"task", wish.task.ToString()}, {"why", asked.message()}});
    return relay_.Refuse(wish.tunnel, asked);
  }
  // The relay ignores Refuse() for a tunnel that was answered, so the deadline needs no cancelling.
  deadlines_[wish.tunnel] = loop_.After(kAnswerPatience, [this, wish] {
    relay_.Refuse(wish.tunnel,
                  absl::DeadlineExceededError(absl::StrCat(
                      "the executor of ", wish.logs ? wish.logs->container() : wish.task.ToString(),
                      " has not answered within ", kAnswerPatience.count(), " s")));
    deadlines_.erase(wish.tunnel);
  });
}

absl::Status Tunnels::Ask(const rpc::TunnelRelay::Wish& wish) {
  v1::MasterMessage message;
  v1::OpenTunnel& open = *message.mutable_open_tunnel();
  open.set_tunnel(wish.tunnel);
  std::string container;
  if (wish.logs) {
    container = wish.logs->container();
    if (wish.logs->master()) return send_own_logs_(wish);
    TONY_RETURN_IF_ERROR(CheckLogContainer(machine_.tasks(), container));
    *open.mutable_logs() = *wish.logs;
  } else if (wish.exec) {
    TONY_ASSIGN_OR_RETURN(container, FindExecContainer(machine_, wish.task));
    *open.mutable_exec() = *wish.exec;
    note_exec_(ExecNote(wish));
  } else {
    TONY_ASSIGN_OR_RETURN(const TunnelTarget target, FindTunnelTarget(machine_.tasks(), wish));
    container = target.container_id;
    open.set_port(target.port);
  }
  // The relay must know the container before the executor can answer, because it refuses an answer
  // from any other one.
  relay_.Expect(wish.tunnel, container);
  return executors_.Send(container, message);
}

}  // namespace tony::appmaster
