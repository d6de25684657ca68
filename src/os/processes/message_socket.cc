// sendmsg() and recvmsg() with SCM_RIGHTS for the descriptors.
#include "os/processes/message_socket.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace tony::os {

bool SendBytes(int socket, const void* bytes, size_t size, const std::vector<int>& descriptors) {
  if (descriptors.size() > kMaxDescriptors) {
    errno = EINVAL;
    return false;
  }
  iovec part{.iov_base = const_cast<void*>(bytes), .iov_len = size};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))] = {};
  msghdr header{.msg_iov = &part, .msg_iovlen = 1};
  if (!descriptors.empty()) {
    const size_t length = descriptors.size() * sizeof(int);
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(length);
    cmsghdr* first = CMSG_FIRSTHDR(&header);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(length);
    std::memcpy(CMSG_DATA(first), descriptors.data(), length);
  }
  ssize_t sent;
  do {
    sent = ::sendmsg(socket, &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(size);
}

ssize_t ReceiveBytes(int socket, void* bytes, size_t size, std::vector<UniqueFd>& descriptors,
                     bool wait) {
  descriptors.clear();
  iovec part{.iov_base = bytes, .iov_len = size};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  msghdr header{
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
  ssize_t received;
  do {
    received = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
  } while (received < 0 && errno == EINTR);
  if (received <= 0) return received;
  const cmsghdr* first = CMSG_FIRSTHDR(&header);
  if (first != nullptr && first->cmsg_level == SOL_SOCKET && first->cmsg_type == SCM_RIGHTS) {
    const size_t count = (first->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    std::array<int, kMaxDescriptors> numbers{};
    std::memcpy(numbers.data(), CMSG_DATA(first), count * sizeof(int));
    for (size_t i = 0; i < count; ++i) descriptors.emplace_back(numbers[i]);
  }
  if (received == static_cast<ssize_t>(size)) return received;
  errno = EBADMSG;
  return -1;
}

}  // namespace tony::os
