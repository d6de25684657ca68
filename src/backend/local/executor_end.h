// Tells how an executor ended.
#pragma once

#include <string>

#include "core/ports/cluster_backend.h"
#include "os/processes/exit_status.h"

namespace tony::backend {

/// The end of the executor's container, for people. `log_path`: the executor's log, whose last line
/// explains an executor to which the machine refused something, e.g. threads.
core::ContainerEnd EndOfExecutor(const os::ExitStatus& status, const std::string& log_path);

}  // namespace tony::backend
