// No option is set: with SO_REUSEADDR or SO_REUSEPORT others could share the port.
#include "os/network/bound_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "os/files/files.h"

namespace tony::os {

absl::StatusOr<UniqueFd> BindLoopbackSocket() {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoError(errno, "cannot make a socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return ErrnoError(errno, "cannot bind a port of 127.0.0.1");
  }
  return fd;
}

}  // namespace tony::os
