// Reservation and inspection of a task's ports.
#include "executor/task_ports.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/port_listeners.h"

namespace tony::executor {

absl::Status TaskPorts::Reserve(bool visualization) {
  // The new ones first: a port of the old epoch must not come back at once.
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

std::vector<Stranger> TaskPorts::Strangers(const std::vector<pid_t>& own) const {
  std::vector<uint16_t> ports;
  if (task_) ports.push_back(task_->port());
  if (visualization_) ports.push_back(visualization_->port());
  std::vector<Stranger> strangers;
  absl::StatusOr<std::vector<os::PortListener>> listeners = os::FindListeners(ports);
  if (!listeners.ok()) return strangers;
  for (const os::PortListener& listener : *listeners) {
    if (std::find(own.begin(), own.end(), listener.pid) != own.end()) continue;
    const std::string who =
        listener.pid == 0 ? "a process" : absl::StrCat("pid ", listener.pid, " (", listener.command, ")");
    strangers.push_back({listener.port, absl::StrCat(who, " of user ", listener.uid)});
  }
  return strangers;
}

}  // namespace tony::executor
