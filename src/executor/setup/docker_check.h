// Checks that this container is the Docker container that the NodeManager was asked for.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tony::executor {

/// A NodeManager without Docker ignores the request silently, and the program would run with
/// whatever its node has. FailedPrecondition – `environment` ("NAME=value") asks for a Docker
/// container and this process is in none: one of its ancestors is a NodeManager, or the files that
/// engines leave in their containers are missing. `root`: the root of the file system.
absl::Status CheckDocker(const std::vector<std::string>& environment, const std::string& root);

}  // namespace tony::executor
