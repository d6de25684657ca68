// Reservation of a task's ports, and the search for strangers on them, which looks twice to rule
// out processes that start or end in between.
#include "executor/task/task_ports.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tony::executor {

absl::Status TaskPorts::Reserve(bool visualization) {
  // The new ports are reserved before the old ones are given up, so that a port of the old epoch
  // does not come back at once.
  TONY_ASSIGN_OR_RETURN(os::PortReservation task, os::PortReservation::Reserve());
  std::optional<os::PortReservation> second;
  if (visualization) {
    TONY_ASSIGN_OR_RETURN(second, os::PortReservation::Reserve());
  }
  task_ = std::move(task);
  visualization_ = std::move(second);
  return absl::OkStatus();
}

void TaskPorts::ReleaseSockets() {
  if (task_) task_->ReleaseSocket();
  if (visualization_) visualization_->ReleaseSocket();
}

bool TaskPorts::VisualizationListens() const {
  return visualization_ && os::UserListens(visualization_->port(), geteuid()).value_or(false);
}

std::vector<os::PortListener> TaskPorts::Listeners() const {
  std::vector<uint16_t> ports;
  if (task_) ports.push_back(task_->port());
  if (visualization_) ports.push_back(visualization_->port());
  return os::FindListeners(ports).value_or(std::vector<os::PortListener>());
}

std::vector<Stranger> TaskPorts::Strangers(bool program_runs,
                                           const std::function<std::vector<pid_t>()>& own) const {
  std::vector<os::PortListener> foreign = Listeners();
  if (program_runs) {
    std::erase_if(foreign, [](const os::PortListener& listener) {
      return listener.pid == 0 && listener.uid == geteuid();
    });
  }
  if (foreign.empty()) return {};
  // The own processes are listed after the first look, so they include those started meanwhile. A
  // process that ended meanwhile looks foreign, but is gone in the second look.
  const std::vector<pid_t> own_processes = own();
  std::erase_if(foreign, [&](const os::PortListener& listener) {
    return std::find(own_processes.begin(), own_processes.end(), listener.pid) !=
           own_processes.end();
  });
  if (foreign.empty()) return {};
  const std::vector<os::PortListener> still = Listeners();
  std::vector<Stranger> strangers;
  for (const os::PortListener& listener : foreign) {
    const bool there = std::any_of(still.begin(), still.end(), [&](const os::PortListener& other) {
      return other.port == listener.port && other.pid == listener.pid;
    });
    if (!there) continue;
    const std::string who = listener.pid == 0
                                ? "a process"
                                : absl::StrCat("pid ", listener.pid, " (", listener.command, ")");
    strangers.push_back({listener.port, absl::StrCat(who, " of user ", listener.uid)});
  }
  return strangers;
}

}  // namespace tony::executor
