// A program to be started, in the form in which it is sent to the process that starts it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "os/files/unique_fd.h"

namespace tony::os {

/// The program to be started.
struct SpawnPayload {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::string working_folder;
  std::string program;                // file to execute; empty: arguments[0], looked up in PATH
  std::vector<std::string> fallback;  // arguments of the program executed if the file cannot be
};

/// Packs the payload into one string, and unpacks it. No string in it may hold a NUL.
std::string PackSpawnPayload(const SpawnPayload& payload);
SpawnPayload UnpackSpawnPayload(const std::string& packed);

/// The packed payload as a memory file, to be sent as a descriptor of a message: an environment may
/// be larger than a socket takes at once. ResourceExhausted – no descriptor or memory.
absl::StatusOr<UniqueFd> PayloadFile(const SpawnPayload& payload);
/// Unpacks the payload that PayloadFile() has put into the file behind `fd`, in whatever process.
SpawnPayload ReadPayloadFile(int fd);

}  // namespace tony::os
