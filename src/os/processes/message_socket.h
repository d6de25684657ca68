// Sends plain values and descriptors over a Unix socket that keeps message boundaries
// (SOCK_SEQPACKET).
#pragma once

#include <sys/types.h>

#include <type_traits>
#include <vector>

#include "os/files/unique_fd.h"

namespace tony::os {

// The programs at both ends are built together, so the bytes of a value mean the same on both
// sides.

/// Maximum number of descriptors in one message.
inline constexpr size_t kMaxDescriptors = 8;

/// Sends `size` bytes and copies of up to kMaxDescriptors descriptors as one message. Returns false
/// with errno set on failure (EINVAL for more descriptors).
bool SendBytes(int socket, const void* bytes, size_t size, const std::vector<int>& descriptors);

/// Receives one message of exactly `size` bytes with its descriptors, which are closed on exec.
/// Returns `size`, 0 if the other end is gone, or -1 with errno set (EAGAIN if `wait` is false and
/// there is no message; EBADMSG for another size).
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
