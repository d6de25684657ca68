// Parses with inet_pton(3). A connected UDP socket, which sends nothing, tells the own address that
// the kernel would use for the default route.
#include "collective/net/net_address.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

namespace tony::collective {
namespace {

/// Addresses for documentation (RFC 5737, RFC 3849), which no host has, so their route is the
/// default route. Nothing is sent there.
constexpr char kElsewhere[] = "192.0.2.1";
constexpr char kElsewhere6[] = "2001:db8::1";

/// TCP keepalive: seconds of silence before the first probe, seconds between probes, and number of
/// unanswered probes after which the host counts as gone. Keepalive covers idle connections only;
/// with data in flight, operations have their own deadline.
constexpr int kIdleTime = 20;
constexpr int kQuestionTime = 10;
constexpr int kQuestions = 4;

sockaddr_in& AsIpv4(sockaddr_storage& storage) { return reinterpret_cast<sockaddr_in&>(storage); }
sockaddr_in6& AsIpv6(sockaddr_storage& storage) { return reinterpret_cast<sockaddr_in6&>(storage); }

/// The address of an interface that is up, if other hosts may reach it: empty for loopback and for
/// a link-local IPv6 address, which means nothing without the other host's interface.
std::string ReachableHost(const ifaddrs& one, int family) {
  const bool usable = one.ifa_addr != nullptr && one.ifa_addr->sa_family == family &&
                      (one.ifa_flags & IFF_UP) != 0 && (one.ifa_flags & IFF_LOOPBACK) == 0;
  if (!usable) return "";
  const void* at = &reinterpret_cast<const sockaddr_in*>(one.ifa_addr)->sin_addr;
  if (family == AF_INET6) {
    const auto* address = reinterpret_cast<const sockaddr_in6*>(one.ifa_addr);
    if (IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr)) return "";
    at = &address->sin6_addr;
  }
  char text[INET6_ADDRSTRLEN] = "";
  return inet_ntop(family, at, text, sizeof(text)) == nullptr ? "" : text;
}

/// The own address on the route to `elsewhere`; empty if there is no such route.
std::string HostOnRouteTo(const char* elsewhere) {
  auto address = NetAddress::Of(elsewhere, 9);
  const Descriptor probe(socket(address->family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (connect(probe.get(), address->data(), address->size()) != 0) return "";
  return NetAddress::OfSocket(probe.get()).Host();
}

}  // namespace

Result<NetAddress> NetAddress::Of(const std::string& host, uint16_t port) {
  NetAddress address;
  if (inet_pton(AF_INET, host.c_str(), &AsIpv4(address.storage_).sin_addr) == 1) {
    address.storage_.ss_family = AF_INET;
    AsIpv4(address.storage_).sin_port = htons(port);
    return address;
  }
  address = NetAddress();
  if (inet_pton(AF_INET6, host.c_str(), &AsIpv6(address.storage_).sin6_addr) == 1) {
    address.storage_.ss_family = AF_INET6;
    AsIpv6(address.storage_).sin6_port = htons(port);
    return address;
  }
  return Status(
      Code::kInvalidArgument,
      "'" + host + "' is no IP address: give one in numbers, as 192.0.2.7 or 2001:db8::7");
}

Result<NetAddress> NetAddress::Parse(const std::string& text) {
  const size_t space = text.find(' ');
  uint16_t port = 0;
  const char* const end = text.data() + text.size();
  if (space != std::string::npos) {
    const auto [at, error] = std::from_chars(text.data() + space + 1, end, port);
    if (error == std::errc() && at == end && port != 0) return Of(text.substr(0, space), port);
  }
  return Status(Code::kInvalidArgument, "'" + text + "' is no address and port");
}

NetAddress NetAddress::OfSocket(int socket, decltype(&getsockname) side) {
  NetAddress address;
  socklen_t size = sizeof(address.storage_);
  side(socket, reinterpret_cast<sockaddr*>(&address.storage_), &size);
  return address;
}

std::string NetAddress::Host() const {
  char text[INET6_ADDRSTRLEN] = "";
  auto& storage = const_cast<sockaddr_storage&>(storage_);
  const void* at = family() == AF_INET6 ? static_cast<const void*>(&AsIpv6(storage).sin6_addr)
                                        : &AsIpv4(storage).sin_addr;
  return inet_ntop(family(), at, text, sizeof(text)) == nullptr ? "nowhere" : text;
}

std::string NetAddress::Text() const {
  // The port lies at the same offset in sockaddr_in and sockaddr_in6.
  const auto port = ntohs(reinterpret_cast<const sockaddr_in&>(storage_).sin_port);
  return Host() + " " + std::to_string(port);
}

bool NetAddress::IsLoopback() const {
  auto& storage = const_cast<sockaddr_storage&>(storage_);
  if (family() == AF_INET) return ntohl(AsIpv4(storage).sin_addr.s_addr) >> 24 == 127;
  return family() == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&AsIpv6(storage).sin6_addr);
}

std::string FirstReachableHost(const ifaddrs* list) {
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
      if (std::string host = ReachableHost(*one, family); !host.empty()) return host;
    }
  }
  return "";
}

Result<std::string> OwnHost() {
  for (const char* const elsewhere : {kElsewhere, kElsewhere6}) {
    if (std::string host = HostOnRouteTo(elsewhere); !host.empty()) return host;
  }
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return SocketError("cannot list the network interfaces");
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  if (std::string host = FirstReachableHost(list); !host.empty()) return host;
  return Status(
      Code::kFailedPrecondition,
      "this host has no address by which other hosts could reach it: no network interface "
      "besides loopback is up and has an IPv4 or a global IPv6 address");
}

Status SocketError(const std::string& what) {
  const int error = errno;
  const bool lack = error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
  return {lack ? Code::kResourceExhausted : Code::kInternal, what + ": " + std::strerror(error)};
}

void PrepareStream(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &kIdleTime, sizeof(kIdleTime));
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &kQuestionTime, sizeof(kQuestionTime));
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &kQuestions, sizeof(kQuestions));
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
}

}  // namespace tony::collective
