// The kernel is asked for the one socket; where it does not answer, its table is read.
#include "os/peer_user.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/sock_diag.h"

namespace tony::os {

absl::StatusOr<uid_t> LoopbackPeerUser(uint16_t peer_port, uint16_t local_port) {
  if (const std::optional<uid_t> user = AskForLoopbackUser(peer_port, local_port)) return *user;
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

absl::Status CheckLoopbackPeer(uint16_t peer_port, uint16_t local_port) {
  TONY_ASSIGN_OR_RETURN(const uid_t user, LoopbackPeerUser(peer_port, local_port));
  if (user == ::geteuid() || user == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("a program of another user of this machine (", user, ") was sent away"));
}

}  // namespace tony::os
