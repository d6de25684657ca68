// What is to be started, on its way to the process that starts it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "os/files/unique_fd.h"

namespace tony::os {

/// What is to be started.
struct SpawnPayload {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::string working_folder;
  std::string program;                // the file; empty: arguments[0], looked up in PATH
  std::vector<std::string> fallback;  // arguments of what is executed if the file cannot be
};

/// As one string, and back. No string in it may hold a NUL.
std::string PackSpawnPayload(const SpawnPayload& payload);
SpawnPayload UnpackSpawnPayload(const std::string& packed);

/// The packed payload as a file in memory, for a descriptor of a message: an environment may be
/// larger than what a socket takes at once. ResourceExhausted – no descriptor or memory.
absl::StatusOr<UniqueFd> PayloadFile(const SpawnPayload& payload);
/// What PayloadFile() put into the file that `fd` is open on, in whatever process.
SpawnPayload ReadPayloadFile(int fd);

}  // namespace tony::os
