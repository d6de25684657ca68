// Asks the kernel for the one socket through sock_diag; if it does not answer, reads the tables in
// /proc/net.
#include "os/network/peer_user.h"

#include <netinet/tcp.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/network/sock_diag.h"

namespace tony::os {
namespace {

// 127.0.0.1 as the kernel's tables print it: the four bytes in network order, printed as one number
// in the machine's byte order; and the same address in IPv4-mapped IPv6 form.
constexpr bool kLittleEndian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
constexpr std::string_view kLoopback = kLittleEndian ? "0100007F" : "7F000001";
constexpr std::string_view kMappedLoopback =
    kLittleEndian ? "0000000000000000FFFF00000100007F" : "00000000000000000000FFFF7F000001";

absl::StatusOr<uid_t> UserInTable(const char* path, std::string_view loopback, unsigned peer_port,
                                  unsigned local_port) {
  // The table is read line by line: a machine on which many connections have just ended has tens of
  // thousands of lines.
  std::ifstream table(path);
  if (!table) {
    return absl::UnavailableError(
        absl::StrCat("cannot read ", path, " to see whose a connection is"));
  }
  std::string line;
  while (std::getline(table, line)) {
    char local[33] = "";
    char remote[33] = "";
    unsigned port = 0, remote_port = 0, state = 0, uid = 0;
    unsigned long inode = 0;
    const int fields = std::sscanf(
        line.c_str(), " %*d: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %*x:%*x %*x:%*x %*x %u %*d %lu",
        local, &port, remote, &remote_port, &state, &uid, &inode);
    // A socket that its program has closed has no inode and no user any more. A socket that is
    // still connecting (SYN_SENT) cannot be the peer of an accepted connection: its port belonged
    // to another socket before.
    if (fields == 7 && inode != 0 && state != TCP_SYN_SENT && local == loopback &&
        remote == loopback && port == peer_port && remote_port == local_port) {
      return uid;
    }
  }
  return absl::NotFoundError("the connection is not there any more");
}

}  // namespace

absl::StatusOr<uid_t> LoopbackPeerUser(uint16_t peer_port, uint16_t local_port) {
  absl::StatusOr<uid_t> user = AskForLoopbackUser(peer_port, local_port);
  // Reading the tables takes milliseconds when there are many connections. A stranger who connects
  // and goes away must not cause that cost, so the tables are read only if sock_diag does not
  // answer.
  if (!absl::IsUnavailable(user.status())) return user;
  user = UserInTable("/proc/net/tcp", kLoopback, peer_port, local_port);
  if (!absl::IsNotFound(user.status())) return user;
  // An IPv6 socket may be connected to an IPv4 address.
  return UserInTable("/proc/net/tcp6", kMappedLoopback, peer_port, local_port);
}

absl::Status CheckLoopbackPeer(uint16_t peer_port, uint16_t local_port) {
  TONY_ASSIGN_OR_RETURN(const uid_t user, LoopbackPeerUser(peer_port, local_port));
  if (user == ::geteuid() || user == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("a program of another user of this machine (", user, ") was sent away"));
}

PeerCheck LoopbackPeerCheck() {
  return [](const PeerEnds& ends) { return CheckLoopbackPeer(ends.peer_port, ends.local_port); };
}

}  // namespace tony::os
