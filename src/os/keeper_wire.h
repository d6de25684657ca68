// Messages between a keeper and its owner: plain values on a socket pair that keeps their
// boundaries.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "common/clock.h"
#include "os/exit_status.h"
#include "os/unique_fd.h"

namespace tony::os {

// Both ends are forks of one program, so that a value's bytes mean the same on both sides.

/// Owner to keeper. kSpawn carries three descriptors: the packed SpawnPayload as a memory file,
/// which may be larger than a socket's buffer, then standard output and standard error.
struct KeeperCommand {
  enum class Kind : int32_t { kSpawn, kKill };
  Kind kind = Kind::kKill;
  Duration grace{0};  // kSpawn: for leftovers; kKill: for the tree
};

/// Keeper to owner. Which fields count depends on the kind, as in the KeeperEvent of the same name.
struct KeeperReport {
  enum class Kind : int32_t { kStarted, kSpawnFailed, kExited, kTreeGone };
  Kind kind = Kind::kTreeGone;
  pid_t pid = 0;
  int error_number = 0;
  int leftovers = 0;
  ExitStatus status;
  Duration user_time{0};
  Duration system_time{0};
  int64_t max_rss_bytes = 0;
  std::array<char, 512> message{};  // ends with NUL
};

/// What is to be started.
struct SpawnPayload {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::string working_folder;
};

/// As one string, and back. No string in it may hold a NUL.
std::string PackSpawnPayload(const SpawnPayload& payload);
SpawnPayload UnpackSpawnPayload(const std::string& packed);

/// Sends `size` bytes and copies of up to three descriptors as one message. False with errno set
/// when that fails.
bool SendBytes(int socket, const void* bytes, size_t size, const std::vector<int>& descriptors);

/// Receives one message of exactly `size` bytes with its descriptors, which are closed on exec.
/// Returns `size`, 0 when the other end is gone, or -1 with errno set (EAGAIN when `wait` is false
/// and there is none; EBADMSG for another size).
ssize_t ReceiveBytes(int socket, void* bytes, size_t size, std::vector<UniqueFd>& descriptors,
                     bool wait);

template <typename Message>
bool SendMessage(int socket, const Message& message, const std::vector<int>& descriptors = {}) {
  static_assert(std::is_trivially_copyable_v<Message>);
  return SendBytes(socket, &message, sizeof(message), descriptors);
}

template <typename Message>
ssize_t ReceiveMessage(int socket, Message& message, std::vector<UniqueFd>& descriptors,
                       bool wait) {
  static_assert(std::is_trivially_copyable_v<Message>);
  return ReceiveBytes(socket, &message, sizeof(message), descriptors, wait);
}

}  // namespace tony::os
