// Searches for an unused port, excludes other executors by an abstract Unix socket, and binds the
// socket that holds the port.
#include "os/network/port_reservation.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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
#include "common/logging.h"
#include "common/port_number.h"
#include "common/status_macros.h"
#include "os/files/proc_file.h"

namespace tony::os {
namespace {

constexpr int kFirstUnprivilegedPort = 1024;
constexpr int kFirstPreferredPort = 10000;

/// Number of ports in one search whose names are held by others than this user; from then on the
/// names are considered a stranger's mischief and ignored.
constexpr int kMostSkipped = 64;
/// Length of the queue for executors that ask who holds the name: they stay in it, and any further
/// one gets no answer.
constexpr int kMostQueuedAsking = 128;

using PortSet = std::bitset<kLargestPort + 1>;

/// The kernel's settings about ports. A plain value.
struct PortRanges {
  int ephemeral_first = 32768;
  int ephemeral_last = 60999;
  PortSet reserved;
};

// Parses a list such as "3000,4000-4010".
PortSet ParsePortList(const std::string& text) {
  PortSet ports;
  std::istringstream parts(text);
  std::string part;
  while (std::getline(parts, part, ',')) {
    int first = 0, last = 0;
    const int fields = std::sscanf(part.c_str(), "%d-%d", &first, &last);
    if (fields < 1) continue;
    if (fields == 1) last = first;
    for (int port = std::max(first, 0); port <= std::min(last, kLargestPort); ++port)
      ports.set(port);
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

/// The ports `first` to `last`; empty if `last` is less. A plain value.
struct PortInterval {
  int first = 0;
  int last = -1;

  int size() const { return std::max(last - first + 1, 0); }
};

// The ports to try, in three groups of up to two intervals, the best group first.
std::array<std::array<PortInterval, 2>, 3> PreferredPorts(const PortRanges& ranges) {
  const int low_end = ranges.ephemeral_first - 1;
  const int high_begin = ranges.ephemeral_last + 1;
  const PortInterval high{std::max(high_begin, kFirstPreferredPort), kLargestPort};
  return {
      {{{{kFirstPreferredPort, std::min(low_end, kLargestPort)}, high}},
       {{{kFirstUnprivilegedPort, std::min(low_end, kFirstPreferredPort - 1)},
         {std::max(high_begin, kFirstUnprivilegedPort), kFirstPreferredPort - 1}}},
       {{{std::max(ranges.ephemeral_first, kFirstUnprivilegedPort), ranges.ephemeral_last}, {}}}}};
}

/// All preferred ports in the order of the search: each group begins at a random port, so that
/// executors that start together rarely try the same port.
class SearchOrder {
 public:
  explicit SearchOrder(const PortRanges& ranges) : groups_(PreferredPorts(ranges)) {
    std::random_device random;
    for (size_t i = 0; i < groups_.size(); ++i) {
      const int count = CountOf(groups_[i]);
      starts_[i] = count == 0 ? 0 : static_cast<int>(random() % static_cast<unsigned>(count));
      count_ += count;
    }
  }

  int count() const { return count_; }
  /// The port to try at position `index`, from 0 to count() - 1.
  int At(int index) const {
    size_t i = 0;
    for (; index >= CountOf(groups_[i]); ++i) index -= CountOf(groups_[i]);
    const auto& [low, high] = groups_[i];
    const int place = (starts_[i] + index) % CountOf(groups_[i]);
    return place < low.size() ? low.first + place : high.first + place - low.size();
  }

 private:
  using Group = std::array<PortInterval, 2>;

  static int CountOf(const Group& group) { return group[0].size() + group[1].size(); }

  const std::array<Group, 3> groups_;
  std::array<int, 3> starts_{};
  int count_ = 0;
};

absl::Status ErrnoStatus(const std::string& what) {
  const bool exhausted = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
  const std::string message = absl::StrCat(what, ": ", std::strerror(errno));
  return exhausted ? absl::ResourceExhaustedError(message) : absl::UnavailableError(message);
}

/// Kind of the process that keeps other executors off a port.
enum class Excluder { kThis, kOwnUser, kSomebodyElse };

/// Result of taking a port's name: step 1 of the class comment.
struct Exclusion {
  Excluder excluder = Excluder::kThis;
  UniqueFd socket;     ///< holds the name; not valid unless this process is the excluder
  std::string holder;  ///< with kSomebodyElse, as far as known: "process 12 of user 34"
};

/// Finds out who holds a name that could not be taken. Its holder listens, so the kernel tells who
/// made the socket. A holder that does not listen, or whose queue is full, is unknown and counts as
/// somebody else.
absl::StatusOr<Exclusion> AskHolder(const sockaddr_un& address, socklen_t length) {
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return ErrnoStatus("cannot see who holds a port");
  ucred holder{};
  socklen_t size = sizeof(holder);
  const bool known =
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0 &&
      ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &holder, &size) == 0;
  if (known && holder.uid == ::geteuid()) return Exclusion{Excluder::kOwnUser, {}, {}};
  return Exclusion{Excluder::kSomebodyElse,
                   {},
                   known ? absl::StrCat("process ", holder.pid, " of user ", holder.uid)
                         : "a process that does not say whose it is"};
}

// Step 1 of the class comment.
absl::StatusOr<Exclusion> Exclude(int port) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return ErrnoStatus("cannot reserve a port");
  sockaddr_un address{.sun_family = AF_UNIX};
  const std::string name = absl::StrCat("tony-port-", port);
  name.copy(address.sun_path + 1, sizeof(address.sun_path) - 1);  // abstract: begins with NUL
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length) == 0) {
    if (::listen(socket.get(), kMostQueuedAsking) == 0) {
      return Exclusion{Excluder::kThis, std::move(socket), {}};
    }
  } else if (errno == EADDRINUSE) {
    return AskHolder(address, length);
  }
  return ErrnoStatus("cannot mark a port as reserved");
}

// Binds the socket to the port on every address of its family.
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

// Steps 2 and 3 of the class comment. Returns nothing if the port is in use or not allowed for this
// process.
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
  const SearchOrder order(ranges);
  // The first round respects names held by other users. The second one ignores them and takes any
  // port that is free, so that a stranger who holds all the names cannot block every job.
  for (const bool names_count : {true, false}) {
    int skipped = 0;
    std::string holder;
    for (int i = 0; i < order.count(); ++i) {
      const int port = order.At(i);
      if (ranges.reserved.test(static_cast<size_t>(port))) continue;
      TONY_ASSIGN_OR_RETURN(Exclusion exclusion, Exclude(port));
      if (exclusion.excluder == Excluder::kOwnUser) continue;
      if (exclusion.excluder == Excluder::kSomebodyElse && names_count) {
        holder = exclusion.holder;
        if (++skipped == kMostSkipped) break;
        continue;
      }
      TONY_ASSIGN_OR_RETURN(std::optional<UniqueFd> socket, TakePort(port));
      if (socket) return PortReservation(port, std::move(exclusion.socket), std::move(*socket));
    }
    if (skipped == 0) break;
    LogWarning(
        absl::StrCat("the names by which executors keep off each other's ports are held by "
                     "others, \"tony-port-…\" by ",
                     holder, "; a port that is free is taken all the same"));
  }
  return absl::ResourceExhaustedError(
      "every TCP port of this host is in use: end what holds them, or wait until it has ended");
}

}  // namespace tony::os
