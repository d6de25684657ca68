// Whether the container is the Docker container that the NodeManager was asked for.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tony::executor {

/// A NodeManager that knows no Docker passes the wish over in silence: the program would run with
/// whatever its node has. FailedPrecondition – `environment` ("NAME=value") asks for a Docker
/// container, and this process is in none: an ancestor of it is a NodeManager, or it sees none of
/// the files that engines leave in their containers. `root` is the file system's.
absl::Status CheckDocker(const std::vector<std::string>& environment, const std::string& root);

}  // namespace tony::executor
