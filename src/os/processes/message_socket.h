// Plain values and descriptors over a Unix socket that keeps the boundaries of messages
// (SOCK_SEQPACKET).
#pragma once

#include <sys/types.h>

#include <type_traits>
#include <vector>

#include "os/files/unique_fd.h"

namespace tony::os {

// Both ends are of programs built together, so that a value's bytes mean the same on both sides.

/// How many descriptors one message can carry.
inline constexpr size_t kMaxDescriptors = 8;

/// Sends `size` bytes and copies of up to kMaxDescriptors descriptors as one message. False with
/// errno set when that fails (EINVAL for more descriptors).
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
