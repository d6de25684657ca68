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

/// An address from TEST-NET-1 (RFC 5737), which no host has, so its route is the default route.
/// Nothing is sent there.
constexpr char kElsewhere[] = "192.0.2.1";

/// TCP keepalive: seconds of silence before the first probe, seconds between probes, and number of
/// unanswered probes after which the host counts as gone. Keepalive covers idle connections only;
/// with data in flight, operations have their own deadline.
constexpr int kIdleTime = 20;
constexpr int kQuestionTime = 10;
constexpr int kQuestions = 4;

sockaddr_in& AsIpv4(sockaddr_storage& storage) { return reinterpret_cast<sockaddr_in&>(storage); }
sockaddr_in6& AsIpv6(sockaddr_storage& storage) { return reinterpret_cast<sockaddr_in6&>(storage); }

bool IsReachable(const ifaddrs& one) {
  return one.ifa_addr != nullptr && one.ifa_addr->sa_family == AF_INET &&
         (one.ifa_flags & IFF_UP) != 0 && (one.ifa_flags & IFF_LOOPBACK) == 0;
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

std::string OwnHost() {
  auto elsewhere = NetAddress::Of(kElsewhere, 9);
  const Descriptor probe(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (connect(probe.get(), elsewhere->data(), elsewhere->size()) == 0) {
    return NetAddress::OfSocket(probe.get()).Host();
  }
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "127.0.0.1";
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (!IsReachable(*one)) continue;
    char text[INET_ADDRSTRLEN] = "";
    const auto* address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    if (inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text)) != nullptr) return text;
  }
  return "127.0.0.1";
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
