// A server that takes connections and never says a word, as one behind a broken network.
#pragma once

#include <poll.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "os/files/unique_fd.h"
#include "tests/os/network/network_support.h"

namespace tony::os {

/// Listens on loopback. Thread safe (immutable).
class SilentServer {
 public:
  SilentServer() : socket_(ListenSocket({}, 0)) {}

  uint16_t port() const { return PortOf(socket_); }
  std::string address() const { return absl::StrCat("127.0.0.1:", port()); }

  /// Waits until somebody has connected. False: nobody has, within a minute.
  bool WaitForConnection() const {
    pollfd wanted{socket_.get(), POLLIN, 0};
    return ::poll(&wanted, 1, 60'000) == 1;
  }

 private:
  const UniqueFd socket_;
};

}  // namespace tony::os
