// A TCP connection on the event loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/event_loop.h"

namespace tony::hadoop {

/// Where a server listens.
struct Endpoint {
  std::string host;  ///< a name, or an address; of version 6 without brackets
  int port = 0;

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// "host:port", "[address]:port".
std::string ToString(const Endpoint& endpoint);
/// The reverse; `default_port` where there is none. InvalidArgument – no host, or no port.
absl::StatusOr<Endpoint> ParseEndpoint(const std::string& text, int default_port);

/// Looks the name up, connects to the first of its addresses that answers, and carries bytes. All
/// on the loop's thread, but for the look-up, for which Boost.Asio keeps a thread.
/// Not thread safe: owned by the event loop.
class TcpStream {
 public:
  /// Each is called from the loop, never from within a call to this class.
  struct Events {
    std::function<void()> connected;
    std::function<void(const char* data, size_t size)> received;
    /// Unavailable – it could not be connected, or it is closed. The last call.
    std::function<void(const absl::Status&)> closed;
  };

  /// Starts to connect.
  TcpStream(EventLoop& loop, const Endpoint& endpoint, Events events);
  /// Closes; no event comes after that.
  ~TcpStream();
  TcpStream(const TcpStream&) = delete;
  TcpStream& operator=(const TcpStream&) = delete;

  /// Sends `bytes` after those before, once it is connected.
  void Write(std::string bytes);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tony::hadoop
