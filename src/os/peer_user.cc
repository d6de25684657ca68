// The kernel is asked for the one socket; where it does not answer, its table is read.
#include "os/peer_user.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

#include "os/unique_fd.h"

namespace tony::os {
namespace {

/// Nothing: there is none, its program has closed it, or the kernel is built without sock_diag(7).
std::optional<uid_t> AskKernel(uint16_t peer_port, uint16_t local_port) {
  const UniqueFd netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  struct {
    nlmsghdr head;
    inet_diag_req_v2 body;
  } request{};
  request.head = {.nlmsg_len = sizeof(request),
                  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                  .nlmsg_flags = NLM_F_REQUEST};
  request.body.sdiag_family = AF_INET;
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = ~0U;
  request.body.id.idiag_sport = htons(peer_port);
  request.body.id.idiag_dport = htons(local_port);
  request.body.id.idiag_src[0] = htonl(INADDR_LOOPBACK);
  request.body.id.idiag_dst[0] = htonl(INADDR_LOOPBACK);
  request.body.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  request.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  // It answers within the call, or not at all.
  if (!netlink.valid() || ::send(netlink.get(), &request, sizeof(request), 0) < 0) return {};
  alignas(nlmsghdr) char bytes[4096];
  const ssize_t size = ::recv(netlink.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
  nlmsghdr head{};
  inet_diag_msg found{};
  if (size < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(found)))) return {};
  std::memcpy(&head, bytes, sizeof(head));
  std::memcpy(&found, bytes + NLMSG_HDRLEN, sizeof(found));
  // Where there is none, one that listens on the port is answered.
  if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || found.idiag_inode == 0 ||
      found.id.idiag_dport != request.body.id.idiag_dport ||
      found.id.idiag_dst[0] != request.body.id.idiag_dst[0]) {
    return {};
  }
  return found.idiag_uid;
}

}  // namespace

absl::StatusOr<uid_t> LoopbackPeerUser(uint16_t peer_port, uint16_t local_port) {
  if (const std::optional<uid_t> user = AskKernel(peer_port, local_port)) return *user;
  // 127.0.0.1 as the kernel writes it on this machine: four bytes in the network's order, as one
  // number in the machine's.
  constexpr unsigned kLoopback =
      __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0x0100007F : 0x7F000001;
  // Line by line: a machine where many connections have just ended has tens of thousands.
  std::ifstream table("/proc/net/tcp");
  if (!table) {
    return absl::UnavailableError("cannot read /proc/net/tcp to see whose a connection is");
  }
  std::string line;
  while (std::getline(table, line)) {
    unsigned local = 0, port = 0, remote = 0, remote_port = 0, uid = 0;
    unsigned long inode = 0;
    const int fields =
        std::sscanf(line.c_str(), " %*d: %8x:%x %8x:%x %*x %*x:%*x %*x:%*x %*x %u %*d %lu", &local,
                    &port, &remote, &remote_port, &uid, &inode);
    // One that its program has closed has no inode, and no user any more.
    if (fields == 6 && inode != 0 && local == kLoopback && remote == kLoopback &&
        port == peer_port && remote_port == local_port) {
      return uid;
    }
  }
  return absl::NotFoundError("the connection is not there any more");
}

}  // namespace tony::os
