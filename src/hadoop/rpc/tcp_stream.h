// A client's TCP connection on the event loop, and the addresses it connects to.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/event_loop.h"

namespace tony::hadoop {

/// Host and port of a server.
struct Endpoint {
  std::string host;  ///< a name or an IP address; IPv6 without brackets
  int port = 0;

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// The form "host:port", or "[address]:port" for IPv6.
std::string ToString(const Endpoint& endpoint);
/// The reverse of ToString; `default_port` is used if `text` has no port. InvalidArgument – no
/// host, or the port is no valid port number.
absl::StatusOr<Endpoint> ParseEndpoint(const std::string& text, int default_port);

/// Looks the host's name up, connects to the first of its addresses that answers, and carries
/// bytes. All of it runs on the loop's thread except the look-up, for which Boost.Asio keeps a
/// thread.
/// Not thread safe: owned by the event loop.
class TcpStream {
 public:
  /// The stream's callbacks. Each is called from the loop, never from within a call to this class.
  struct Events {
    std::function<void()> connected;
    std::function<void(const char* data, size_t size)> received;
    /// The last event. Unavailable – the connection could not be made, was lost, or was closed by
    /// the peer.
    std::function<void(const absl::Status&)> closed;
  };

  /// Starts to connect.
  TcpStream(EventLoop& loop, const Endpoint& endpoint, Events events);
  /// Closes the connection; no event comes afterwards.
  ~TcpStream();
  TcpStream(const TcpStream&) = delete;
  TcpStream& operator=(const TcpStream&) = delete;

  /// Queues `bytes` behind all earlier ones; they are sent once the connection is made.
  void Write(std::string bytes);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tony::hadoop
