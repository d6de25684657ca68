// The ports reserved for one task in one epoch, and who else listens on them.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "os/network/port_listeners.h"
#include "os/network/port_reservation.h"

namespace tony::executor {

/// A stranger that listens on a reserved port.
struct Stranger {
  int port = 0;
  std::string description;  ///< "pid 1234 (nc) of user 1000"
};

/// Not thread safe: owned by the event loop.
class TaskPorts {
 public:
  /// Gives up what is held and reserves anew: the task's port, and one for visualization when
  /// wanted. The codes of os::PortReservation::Reserve.
  absl::Status Reserve(bool visualization);
  /// For programs whose server sets neither SO_REUSEADDR nor SO_REUSEPORT.
  void ReleaseSockets();

  int task_port() const { return task_ ? task_->port() : 0; }
  int visualization_port() const { return visualization_ ? visualization_->port() : 0; }

  /// Listeners that are not among the task's own processes, for which `own` is asked when anybody
  /// listens.
  std::vector<Stranger> Strangers(const std::function<std::vector<pid_t>()>& own) const;

 private:
  std::vector<os::PortListener> Listeners() const;

  std::optional<os::PortReservation> task_;
  std::optional<os::PortReservation> visualization_;
};

}  // namespace tony::executor
