// Addresses of TCP sockets, as numbers.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "collective/base/descriptor.h"
#include "collective/base/status.h"

namespace tony::collective {

/// IPv4 or IPv6. Names are looked up by nobody here.
class NetAddress {
 public:
  /// InvalidArgument: no address in numbers.
  static Result<NetAddress> Of(const std::string& host, uint16_t port);
  /// From Text(). InvalidArgument: it is from elsewhere.
  static Result<NetAddress> Parse(const std::string& text);
  /// Which a socket has (getsockname, getpeername).
  static NetAddress OfSocket(int socket, decltype(&getsockname) side = &getsockname);

  /// "192.0.2.7 40000"
  std::string Text() const;
  std::string Host() const;
  bool IsLoopback() const;

  int family() const { return storage_.ss_family; }
  const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const {
    return family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  }

 private:
  sockaddr_storage storage_{};
};

/// This host's, as others see it: that of the default route, else of the first network that is up.
/// Loopback where there is none.
std::string OwnHost();

/// What the operating system says, as ResourceExhausted or Internal.
Status SocketError(const std::string& what);
/// Without delay, not blocking, and ended by the kernel when the other host is gone for a minute.
void PrepareStream(int socket);

}  // namespace tony::collective
