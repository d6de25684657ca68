// Sockets by hand, and unshare(CLONE_NEWNET).
#include "tests/os/network/network_support.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "tests/os/process_support.h"

namespace tony::os {
namespace {

bool WriteSetting(const std::string& name, const std::string& value) {
  const UniqueFd file(::open(("/proc/sys/net/ipv4/" + name).c_str(), O_WRONLY | O_CLOEXEC));
  return file.valid() &&
         ::write(file.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size());
}

bool RaiseLoopback() {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

bool EnterOwnNetwork() {
  if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  return RaiseLoopback();
}

}  // namespace

UniqueFd BindSocket(const ServerOptions& options, uint16_t port) {
  UniqueFd socket(::socket(options.ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (options.reuse_address) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (options.reuse_port) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
  int result;
  if (options.ipv6) {
    sockaddr_in6 address{.sin6_family = AF_INET6, .sin6_port = htons(port)};
    if (options.loopback_only) address.sin6_addr = in6addr_loopback;
    result = ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
  } else {
    sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(port)};
    if (options.loopback_only) address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    result = ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
  }
  return result == 0 ? std::move(socket) : UniqueFd();
}

UniqueFd ListenSocket(const ServerOptions& options, uint16_t port) {
  UniqueFd socket = BindSocket(options, port);
  if (!socket.valid() || ::listen(socket.get(), 16) != 0) return UniqueFd();
  return socket;
}

UniqueFd ConnectTo(uint16_t port, uint16_t source_port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (source_port != 0) socket = BindSocket({}, source_port);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
    return UniqueFd();
  return socket;
}

uint16_t PortOf(const UniqueFd& socket) {
  sockaddr_in6 address{};  // the port is at the same place in both families
  socklen_t length = sizeof(address);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin6_port);
}

std::string InOwnNetwork(const std::string& port_range, const std::string& reserved_ports,
                         const std::function<std::string()>& function) {
  LinePipe answer;
  const pid_t child = ForkChild([&] {
    std::string result = kNoNamespace;
    if (EnterOwnNetwork() && WriteSetting("ip_local_port_range", port_range) &&
        WriteSetting("ip_local_reserved_ports", reserved_ports)) {
      result = function();
    }
    ::dprintf(answer.write_fd(), "%s\n", result.c_str());
  });
  answer.CloseWriteEnd();
  const std::string result = answer.ReadLine().value_or("no answer from the child");
  ::kill(child, SIGKILL);  // it may hang
  ::waitpid(child, nullptr, 0);
  return result;
}

}  // namespace tony::os
