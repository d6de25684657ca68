// Sockets and a network of its own for tests about ports.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "os/files/unique_fd.h"

namespace tony::os {

/// How a server's socket is made. A plain value.
struct ServerOptions {
  bool ipv6 = false;
  bool reuse_address = false;
  bool reuse_port = false;
  bool loopback_only = true;
};

/// A TCP socket bound to `port` (0: any free one); not valid, with errno set, when that fails.
UniqueFd BindSocket(const ServerOptions& options, uint16_t port);
/// The same, listening.
UniqueFd ListenSocket(const ServerOptions& options, uint16_t port);
/// A TCP connection to 127.0.0.1, from `source_port` (0: any free one); not valid when that fails.
UniqueFd ConnectTo(uint16_t port, uint16_t source_port = 0);
uint16_t PortOf(const UniqueFd& socket);

/// Runs `function` in a child that has a network of its own (loopback only), where `port_range` and
/// `reserved_ports` are the kernel's settings. Returns what `function` returned ("" for well), or
/// kNoNamespace where that is not permitted.
inline constexpr char kNoNamespace[] = "this user may not make a network namespace";
std::string InOwnNetwork(const std::string& port_range, const std::string& reserved_ports,
                         const std::function<std::string()>& function);

}  // namespace tony::os
