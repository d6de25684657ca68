// The ports reserved for one task in one epoch, and the strangers that listen on them.
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

/// A foreign process that listens on a reserved port.
struct Stranger {
  int port = 0;
  std::string description;  ///< "pid 1234 (nc) of user 1000"
};

/// Not thread safe: owned by the event loop.
class TaskPorts {
 public:
  /// Reserves new ports and gives up the old ones: one port for the task, and one for visualization
  /// if wanted. The codes of os::PortReservation::Reserve.
  absl::Status Reserve(bool visualization);
  /// Closes the reserving sockets, for programs whose server sets neither SO_REUSEADDR nor
  /// SO_REUSEPORT.
  void ReleaseSockets();

  int task_port() const { return task_ ? task_->port() : 0; }
  int visualization_port() const { return visualization_ ? visualization_->port() : 0; }

  /// Whether a process of this user listens on the visualization port. False if that is not known.
  bool VisualizationListens() const;

  /// Returns the listeners that are not among the task's own processes. `own` returns those
  /// processes; it is called only if anybody listens.
  ///
  /// While the program runs (`program_runs`), a listener of this user whose process cannot be seen
  /// does not count: most likely it is the program itself in the act of ending. The kernel takes
  /// the descriptors from a process before it closes the sockets, and from the main thread before
  /// the others have ended.
  std::vector<Stranger> Strangers(bool program_runs,
                                  const std::function<std::vector<pid_t>()>& own) const;

 private:
  std::vector<os::PortListener> Listeners() const;

  std::optional<os::PortReservation> task_;
  std::optional<os::PortReservation> visualization_;
};

}  // namespace tony::executor
