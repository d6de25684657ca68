// Finds the Python packages that the task's program gets from this installation: tony.collective,
// and the sitecustomize for stacks.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tony::executor {

/// Returns the folder that contains tony/collective, for PYTHONPATH. It belongs to the installation
/// of `program` (os/processes/installation.h).
/// NotFound – there is no package with its library. FailedPrecondition – the path has a ':', which
/// PYTHONPATH cannot hold. The messages are for the executor's log: the program may not need the
/// package.
absl::StatusOr<std::string> FindCollectivePackage(const std::string& program);

/// Returns the folder with the sitecustomize that lets Python processes write their stacks.
/// NotFound, FailedPrecondition – as above.
absl::StatusOr<std::string> FindStacksPackage(const std::string& program);

}  // namespace tony::executor
