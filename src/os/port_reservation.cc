// Search for an unused port, the exclusion between executors, and the socket that holds it.
#include "os/port_reservation.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/proc_file.h"

namespace tony::os {
namespace {

constexpr int kFirstUnprivilegedPort = 1024;
constexpr int kFirstPreferredPort = 10000;
constexpr int kLastPort = 65535;

using PortSet = std::bitset<kLastPort + 1>;

/// What the kernel's settings say about ports. A plain value.
struct PortRanges {
  int ephemeral_first = 32768;
  int ephemeral_last = 60999;
  PortSet reserved;
};

// "3000,4000-4010"
PortSet ParsePortList(const std::string& text) {
  PortSet ports;
  std::istringstream parts(text);
  std::string part;
  while (std::getline(parts, part, ',')) {
    int first = 0, last = 0;
    const int fields = std::sscanf(part.c_str(), "%d-%d", &first, &last);
    if (fields < 1) continue;
    if (fields == 1) last = first;
    for (int port = std::max(first, 0); port <= std::min(last, kLastPort); ++port) ports.set(port);
  }
  return ports;
}

PortRanges ReadPortRanges() {
  const std::string folder = "/proc/sys/net/ipv4/";
  PortRanges ranges;
  int first = 0, last = 0;
  if (std::sscanf(ReadProcFile(folder + "ip_local_port_range").c_str(), "%d %d", &first, &last) ==
      2) {
    ranges.ephemeral_first = first;
    ranges.ephemeral_last = last;
  }
  ranges.reserved = ParsePortList(ReadProcFile(folder + "ip_local_reserved_ports"));
  return ranges;
}

/// Ports `first` to `last`; empty when `last` is less. A plain value.
struct PortInterval {
  int first = 0;
  int last = -1;

  int size() const { return std::max(last - first + 1, 0); }
};

// The ports to try, in three groups of up to two intervals, the best group first.
std::array<std::array<PortInterval, 2>, 3> PreferredPorts(const PortRanges& ranges) {
  const int low_end = ranges.ephemeral_first - 1;
  const int high_begin = ranges.ephemeral_last + 1;
  const PortInterval high{std::max(high_begin, kFirstPreferredPort), kLastPort};
  return {
      {{{{kFirstPreferredPort, std::min(low_end, kLastPort)}, high}},
       {{{kFirstUnprivilegedPort, std::min(low_end, kFirstPreferredPort - 1)},
         {std::max(high_begin, kFirstUnprivilegedPort), kFirstPreferredPort - 1}}},
       {{{std::max(ranges.ephemeral_first, kFirstUnprivilegedPort), ranges.ephemeral_last}, {}}}}};
}

absl::Status ErrnoStatus(const std::string& what) {
  const bool exhausted = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
  const std::string message = absl::StrCat(what, ": ", std::strerror(errno));
  return exhausted ? absl::ResourceExhaustedError(message) : absl::UnavailableError(message);
}

// Step 1 of the class comment. Nothing when another executor of this host has the port.
absl::StatusOr<std::optional<UniqueFd>> TakeExclusion(int port) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return ErrnoStatus("cannot reserve a port");
  sockaddr_un address{.sun_family = AF_UNIX};
  const std::string name = absl::StrCat("tony-port-", port);
  name.copy(address.sun_path + 1, sizeof(address.sun_path) - 1);  // a NUL before it: abstract
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const bool bound = ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length) == 0;
  if (bound) return std::optional<UniqueFd>(std::move(socket));
  if (errno == EADDRINUSE) return std::optional<UniqueFd>();
  return ErrnoStatus("cannot mark a port as reserved");
}

// bind() to the port on every address of the socket's family.
bool BindAnyAddress(int socket, int family, int port) {
  if (family == AF_INET6) {
    const int off = 0;
    ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    sockaddr_in6 address{.sin6_family = AF_INET6, .sin6_port = htons(static_cast<uint16_t>(port))};
    return ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port))};
  return ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
}

// Steps 2 and 3 of the class comment. Nothing when the port is in use or not for us.
absl::StatusOr<std::optional<UniqueFd>> TakePort(int port) {
  int family = AF_INET6;
  UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  bool bound = socket.valid() && BindAnyAddress(socket.get(), family, port);
  const bool no_ipv6 = !bound && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL);
  if (no_ipv6) {
    family = AF_INET;
    socket.Reset(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    bound = socket.valid() && BindAnyAddress(socket.get(), family, port);
  }
  if (!bound && (errno == EADDRINUSE || errno == EACCES)) return std::optional<UniqueFd>();
  if (!bound) return ErrnoStatus("cannot reserve a port");
  const int on = 1;
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) != 0) {
    return ErrnoStatus("cannot share a reserved port with its server");
  }
  return std::optional<UniqueFd>(std::move(socket));
}

}  // namespace

absl::StatusOr<PortReservation> PortReservation::Reserve() {
  const PortRanges ranges = ReadPortRanges();
  std::random_device random;
  for (const auto& [low, high] : PreferredPorts(ranges)) {
    const int count = low.size() + high.size();
    const int start = count == 0 ? 0 : static_cast<int>(random() % static_cast<unsigned>(count));
    for (int step = 0; step < count; ++step) {
      const int place = (start + step) % count;
      const int port = place < low.size() ? low.first + place : high.first + place - low.size();
      if (ranges.reserved.test(static_cast<size_t>(port))) continue;
      TONY_ASSIGN_OR_RETURN(std::optional<UniqueFd> exclusion, TakeExclusion(port));
      if (!exclusion) continue;
      TONY_ASSIGN_OR_RETURN(std::optional<UniqueFd> socket, TakePort(port));
      if (socket) return PortReservation(port, std::move(*exclusion), std::move(*socket));
    }
  }
  return absl::ResourceExhaustedError(
      "every TCP port of this host is in use: end what holds them, or wait until it has ended");
}

}  // namespace tony::os
