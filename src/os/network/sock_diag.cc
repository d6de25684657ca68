// Netlink requests (sock_diag(7)) for one socket, and for all sockets in one state. The kernel
// answers within the calls or not at all, so nothing here waits.
#include "os/network/sock_diag.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "os/files/unique_fd.h"

namespace tony::os {
namespace {

// The kernel's numbers of a connection's states (net/tcp_states.h). <netinet/tcp.h> names them, but
// cannot be included beside <linux/tcp.h>, which alone knows the newer counters of tcp_info.
constexpr uint8_t kSynSent = 2;
constexpr uint8_t kSynReceived = 3;
constexpr uint8_t kTimeWait = 6;
constexpr uint8_t kListen = 10;
constexpr uint8_t kNewSynReceived = 12;

constexpr size_t kAnswerBytes = size_t{32} << 10;  // size of one datagram

struct Request {
  nlmsghdr head{};
  inet_diag_req_v2 body{};
};

// A request for TCP sockets of `family`; `states`: a bit for each state of interest.
Request RequestFor(uint8_t family, uint32_t states, uint16_t flags) {
  Request request;
  request.head.nlmsg_len = sizeof(request);
  request.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.head.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
  request.body.sdiag_family = family;
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = states;
  return request;
}

/// Sends the request. Returns a descriptor that is not valid if the kernel does not take such
/// requests.
UniqueFd Send(const Request& request) {
  UniqueFd netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  const bool sent = netlink.valid() && ::send(netlink.get(), &request, sizeof(request), 0) >= 0;
  return sent ? std::move(netlink) : UniqueFd();
}

/// Passes each message of one datagram to `take(type, found, attributes)`; the latter two are empty
/// in messages of other types. Returns false if there is no datagram or it is malformed.
template <typename Take>
bool Receive(const UniqueFd& netlink, const Take& take) {
  alignas(nlmsghdr) std::array<char, kAnswerBytes> bytes;
  const ssize_t size = ::recv(netlink.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size <= 0) return false;
  size_t at = 0;
  const auto end = static_cast<size_t>(size);
  while (end - at >= sizeof(nlmsghdr)) {
    nlmsghdr head{};
    std::memcpy(&head, bytes.data() + at, sizeof(head));
    if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > end - at) return false;
    inet_diag_msg found{};
    const bool whole = head.nlmsg_len >= NLMSG_LENGTH(sizeof(found));
    if (whole) std::memcpy(&found, bytes.data() + at + NLMSG_HDRLEN, sizeof(found));
    const size_t before = NLMSG_SPACE(sizeof(found));
    take(head.nlmsg_type, found,
         head.nlmsg_len <= before
             ? std::string_view()
             : std::string_view(bytes.data() + at + before, head.nlmsg_len - before));
    at += NLMSG_ALIGN(head.nlmsg_len);
    if (at > end) break;
  }
  return true;
}

/// Passes each socket of the answer to `take(found, attributes)`. Returns false if the answer is
/// not complete.
template <typename Take>
bool ForEachSocket(const Request& request, const Take& take) {
  const UniqueFd netlink = Send(request);
  if (!netlink.valid()) return false;
  bool done = false;
  bool refused = false;
  const auto sort = [&](uint16_t type, const inet_diag_msg& found, std::string_view attributes) {
    if (type == NLMSG_DONE) done = true;
    if (type == NLMSG_ERROR) refused = true;
    if (type == SOCK_DIAG_BY_FAMILY) take(found, attributes);
  };
  while (!done) {
    if (!Receive(netlink, sort) || refused) return false;
  }
  return true;
}

/// Returns false if the list of listening sockets is not complete.
bool AddListening(uint8_t family, std::vector<ListeningSocket>& sockets) {
  return ForEachSocket(RequestFor(family, 1U << kListen, NLM_F_DUMP),
                       [&](const inet_diag_msg& found, std::string_view) {
                         if (found.idiag_state != kListen) return;
                         sockets.push_back({.port = ntohs(found.id.idiag_sport),
                                            .inode = found.idiag_inode,
                                            .uid = found.idiag_uid});
                       });
}

/// The connection's counters, of which an older kernel sends fewer; the rest is 0. Nothing: it does
/// not count bytes at all.
std::optional<tcp_info> InfoIn(std::string_view attributes) {
  constexpr size_t kNeeded = offsetof(tcp_info, tcpi_bytes_received) + sizeof(uint64_t);
  while (attributes.size() >= sizeof(rtattr)) {
    rtattr head{};
    std::memcpy(&head, attributes.data(), sizeof(head));
    if (head.rta_len < sizeof(head) || head.rta_len > attributes.size()) break;
    const size_t size = head.rta_len - RTA_LENGTH(0);
    if (head.rta_type == INET_DIAG_INFO && size >= kNeeded) {
      tcp_info info{};
      std::memcpy(&info, attributes.data() + RTA_LENGTH(0), std::min(sizeof(info), size));
      return info;
    }
    attributes.remove_prefix(std::min<size_t>(RTA_ALIGN(head.rta_len), attributes.size()));
  }
  return {};
}

/// Linux counts what it has sent since 4.19, and before that only what the peer has acknowledged,
/// where the connection's beginning counts as a byte.
SocketTraffic TrafficOf(const inet_diag_msg& found, const tcp_info& info) {
  const uint64_t sent = info.tcpi_bytes_sent > info.tcpi_bytes_retrans
                            ? info.tcpi_bytes_sent - info.tcpi_bytes_retrans
                            : info.tcpi_bytes_acked;
  return {.cookie = uint64_t{found.id.idiag_cookie[1]} << 32 | found.id.idiag_cookie[0],
          .sent_bytes = static_cast<int64_t>(sent),
          .received_bytes = static_cast<int64_t>(info.tcpi_bytes_received)};
}

/// Whether the other end of `found` is 127.0.0.1. An IPv6 socket may be connected to an IPv4
/// address (::ffff:127.0.0.1), as the sockets of gRPC and Java are.
bool IsConnectedToLoopback(const inet_diag_msg& found) {
  const auto& address = found.id.idiag_dst;
  if (found.idiag_family == AF_INET) return address[0] == htonl(INADDR_LOOPBACK);
  return address[0] == 0 && address[1] == 0 && address[2] == htonl(0xFFFF) &&
         address[3] == htonl(INADDR_LOOPBACK);
}

// Whether the kernel answers for TCP at all, found out once for the process.
bool AnswersForTcp() {
  static const bool answers = AskForListeningSockets().has_value();
  return answers;
}

}  // namespace

std::optional<std::vector<ListeningSocket>> AskForListeningSockets() {
  std::vector<ListeningSocket> sockets;
  if (!AddListening(AF_INET, sockets) || !AddListening(AF_INET6, sockets)) return {};
  return sockets;
}

std::optional<std::vector<SocketTraffic>> AskForTraffic(const std::vector<unsigned long>& inodes) {
  std::vector<SocketTraffic> sockets;
  // Sockets of these states carry nothing, or belong to no process any more.
  constexpr uint32_t kOthers =
      1U << kListen | 1U << kTimeWait | 1U << kSynReceived | 1U << kNewSynReceived;
  bool counts = true;
  for (const uint8_t family : {AF_INET, AF_INET6}) {
    Request request = RequestFor(family, ~kOthers, NLM_F_DUMP);
    request.body.idiag_ext = 1U << (INET_DIAG_INFO - 1);
    const auto take = [&](const inet_diag_msg& found, std::string_view attributes) {
      if (!std::binary_search(inodes.begin(), inodes.end(), found.idiag_inode)) return;
      const std::optional<tcp_info> info = InfoIn(attributes);
      counts = counts && info.has_value();
      if (info) sockets.push_back(TrafficOf(found, *info));
    };
    if (!ForEachSocket(request, take)) return {};
  }
  if (!counts) return {};
  return sockets;
}

absl::StatusOr<uid_t> AskForLoopbackUser(uint16_t port, uint16_t peer_port) {
  Request request = RequestFor(AF_INET, ~0U, 0);
  inet_diag_sockid& id = request.body.id;
  id.idiag_sport = htons(port);
  id.idiag_dport = htons(peer_port);
  id.idiag_src[0] = htonl(INADDR_LOOPBACK);
  id.idiag_dst[0] = htonl(INADDR_LOOPBACK);
  id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  const UniqueFd netlink = Send(request);
  std::optional<uid_t> user;
  bool refused = false;
  const auto take = [&](uint16_t type, const inet_diag_msg& found, std::string_view) {
    if (type == NLMSG_ERROR) refused = true;
    // If there is no such connection, the kernel answers with a socket that listens on the port. A
    // socket that is still connecting (SYN_SENT) cannot be the peer of an accepted connection: its
    // port belonged to another socket before.
    if (type == SOCK_DIAG_BY_FAMILY && found.idiag_inode != 0 && found.idiag_state != kSynSent &&
        found.id.idiag_dport == id.idiag_dport && IsConnectedToLoopback(found)) {
      user = found.idiag_uid;
    }
  };
  if (!netlink.valid() || !Receive(netlink, take)) {
    return absl::UnavailableError("the kernel does not answer sock_diag");
  }
  if (user) return *user;
  // A kernel without the module refuses with the same error number as a kernel that knows no such
  // connection.
  if (refused && !AnswersForTcp()) {
    return absl::UnavailableError("the kernel does not answer sock_diag for TCP");
  }
  return absl::NotFoundError("the connection is not there any more");
}

}  // namespace tony::os
