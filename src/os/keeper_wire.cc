// Packing of strings, and sendmsg()/recvmsg() with descriptors.
#include "os/keeper_wire.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace tony::os {
namespace {

constexpr size_t kMaxDescriptors = 3;

void AppendStrings(const std::vector<std::string>& strings, std::string& packed) {
  packed += std::to_string(strings.size());
  packed.push_back('\0');
  for (const std::string& string : strings) {
    packed += string;
    packed.push_back('\0');
  }
}

// Takes the bytes before the next NUL off `rest`.
std::string_view TakeString(std::string_view& rest) {
  const size_t end = std::min(rest.find('\0'), rest.size());
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return taken;
}

std::vector<std::string> TakeStrings(std::string_view& rest) {
  const unsigned long count = std::strtoul(std::string(TakeString(rest)).c_str(), nullptr, 10);
  std::vector<std::string> strings;
  while (strings.size() < count && !rest.empty()) strings.emplace_back(TakeString(rest));
  return strings;
}

}  // namespace

std::string PackSpawnPayload(const SpawnPayload& payload) {
  std::string packed = payload.working_folder;
  packed.push_back('\0');
  AppendStrings(payload.arguments, packed);
  AppendStrings(payload.environment, packed);
  return packed;
}

SpawnPayload UnpackSpawnPayload(const std::string& packed) {
  std::string_view rest = packed;
  SpawnPayload payload;
  payload.working_folder = TakeString(rest);
  payload.arguments = TakeStrings(rest);
  payload.environment = TakeStrings(rest);
  return payload;
}

bool SendBytes(int socket, const void* bytes, size_t size, const std::vector<int>& descriptors) {
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
