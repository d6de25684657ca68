// Reaps the monitors of containers.
#pragma once

#include <string>

namespace tony::backend {

/// The end of the names of the files in which podman notes the process ids of its monitors, and of
/// the executors that they have started.
inline constexpr char kMonitorSuffix[] = ".monitor";

/// Reaps those monitors (podman's conmon) and executors that are noted in `folder`, have ended, and
/// are children of this process; removes their notes. A monitor leaves its starter at once and so
/// becomes a child of the next subreaper above it, in which it would stay as a zombie. So does the
/// executor of a monitor that was killed, and podman cannot remove a container whose executor is a
/// zombie. Call it on each SIGCHLD. Thread safe.
void ReapMonitors(const std::string& folder);

}  // namespace tony::backend
