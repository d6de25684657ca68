// A client of a server that a test runs itself, which sends any bytes.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/tcp_socket.h"
#include "tests/common/loop_driver.h"

namespace tony {

/// Keeps what comes back. Not thread safe: owned by the driver's loop, and outlived by the driver.
struct RawClient {
  /// Returns when it is connected to the port of `address`.
  void Connect(LoopDriver& driver, int port, const std::string& address = "127.0.0.1") {
    attempt = TcpSocket::Connect(driver.loop(), address, port, [this, &driver](auto connected) {
      ASSERT_TRUE(connected.ok()) << connected.status();
      socket = *std::move(connected);
      Read(driver);
      driver.Changed();
    });
    ASSERT_TRUE(driver.Await([this] { return socket != nullptr; }));
  }

  /// Until nothing more comes. Needs a socket.
  void Read(LoopDriver& driver) {
    socket->Read([this, &driver](const absl::StatusOr<std::string>& bytes) {
      driver.Changed();
      if (!bytes.ok() || bytes->empty()) {
        over = true;
        return;
      }
      received += *bytes;
      Read(driver);
    });
  }

  std::unique_ptr<EventLoop::Handle> attempt;
  std::unique_ptr<TcpSocket> socket;
  std::string received;
  bool over = false;  ///< nothing more comes
};

}  // namespace tony
