// Numeric IP addresses with ports, and the options of TCP sockets.
#pragma once

#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "collective/base/descriptor.h"
#include "collective/base/status.h"

namespace tony::collective {

/// An IPv4 or IPv6 address and port. The class looks up no host names.
class NetAddress {
 public:
  /// InvalidArgument: `host` is no numeric address.
  static Result<NetAddress> Of(const std::string& host, uint16_t port);
  /// Parses what Text() returns. InvalidArgument: `text` has another form, or port 0.
  static Result<NetAddress> Parse(const std::string& text);
  /// The address of one end of a socket. `side`: getsockname for the own end, getpeername for the
  /// other.
  static NetAddress OfSocket(int socket, decltype(&getsockname) side = &getsockname);

  /// Address and port: "192.0.2.7 40000".
  std::string Text() const;
  /// The address alone: "192.0.2.7".
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

/// The address by which other hosts reach this host: that of the default route, else that of the
/// first network interface; of both, IPv4 comes before IPv6. FailedPrecondition: there is only
/// loopback. More codes: those of SocketError().
Result<std::string> OwnHost();
/// The first address in a list of getifaddrs() by which other hosts may reach this host, IPv4
/// before IPv6; empty: there is none.
std::string FirstReachableHost(const ifaddrs* list);

/// `what` with the text of `errno`. ResourceExhausted: descriptors or memory are lacking. Internal:
/// any other error.
Status SocketError(const std::string& what);
/// Makes a TCP socket non-blocking, turns off Nagle's delay, and turns on keepalive: the kernel
/// ends the connection when the other host has been gone for a minute.
void PrepareStream(int socket);

}  // namespace tony::collective
