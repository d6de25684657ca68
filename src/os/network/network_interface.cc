// Connects a datagram socket to the host, which sends nothing; the kernel then tells the socket's
// own address, and the interface with that address is the answer.
#include "os/network/network_interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "os/files/unique_fd.h"

namespace tony::os {
namespace {

/// Port of the connected address. Any port will do, since nothing is sent.
constexpr char kDiscardPort[] = "9";

/// Compares the addresses without their ports.
bool SameAddress(const sockaddr* left, const sockaddr* right) {
  if (left->sa_family != right->sa_family) return false;
  if (left->sa_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(left)->sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in*>(right)->sin_addr.s_addr;
  }
  return left->sa_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6*>(left)->sin6_addr,
                     &reinterpret_cast<const sockaddr_in6*>(right)->sin6_addr,
                     sizeof(in6_addr)) == 0;
}

/// Name of the interface that has `address`; empty if there is none.
std::string InterfaceWith(const sockaddr* address) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "";
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr != nullptr && SameAddress(entry->ifa_addr, address)) return entry->ifa_name;
  }
  return "";
}

}  // namespace

absl::StatusOr<std::string> InterfaceTowards(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int result = getaddrinfo(host.c_str(), kDiscardPort, &hints, &found);
  if (result != 0) return absl::NotFoundError(absl::StrCat(host, ": ", gai_strerror(result)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  // A host may have several addresses of which only some are reachable, so each one is tried in the
  // resolver's order.
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    const UniqueFd fd(socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!fd.valid() || connect(fd.get(), at->ai_addr, at->ai_addrlen) != 0) continue;
    sockaddr_storage own = {};
    socklen_t size = sizeof own;
    auto* const address = reinterpret_cast<sockaddr*>(&own);
    if (getsockname(fd.get(), address, &size) != 0) continue;
    std::string name = InterfaceWith(address);
    // All addresses of 127.0.0.0/8 belong to the loopback interface, though it lists only some of
    // them.
    const bool loopback =
        own.ss_family == AF_INET &&
        (ntohl(reinterpret_cast<sockaddr_in*>(&own)->sin_addr.s_addr) >> 24) == 127;
    if (name.empty() && loopback) name = "lo";
    if (!name.empty()) return name;
  }
  return absl::NotFoundError(absl::StrCat("there is no route to ", host));
}

std::vector<std::string> OwnAddresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  std::vector<std::string> addresses;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    const void* bytes = nullptr;
    if (family == AF_INET) bytes = &reinterpret_cast<sockaddr_in*>(entry->ifa_addr)->sin_addr;
    if (family == AF_INET6) bytes = &reinterpret_cast<sockaddr_in6*>(entry->ifa_addr)->sin6_addr;
    char text[INET6_ADDRSTRLEN];
    if (bytes != nullptr && inet_ntop(family, bytes, text, sizeof text) != nullptr) {
      addresses.emplace_back(text);
    }
  }
  return addresses;
}

}  // namespace tony::os
