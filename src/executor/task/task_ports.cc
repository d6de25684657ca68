// Reservation and inspection of a task's ports.
#include "executor/task/task_ports.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

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

std::vector<os::PortListener> TaskPorts::Listeners() const {
  std::vector<uint16_t> ports;
  if (task_) ports.push_back(task_->port());
  if (visualization_) ports.push_back(visualization_->port());
  return os::FindListeners(ports).value_or(std::vector<os::PortListener>());
}

std::vector<Stranger> TaskPorts::Strangers(const std::function<std::vector<pid_t>()>& own) const {
  std::vector<os::PortListener> foreign = Listeners();
  if (foreign.empty()) return {};
  // Asked after the first look, own processes include those that were started meanwhile; one that
  // has ended meanwhile seems foreign, and is not there in a second look.
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
