// A small HTTP/1.1 server on the event loop, for pages that people look at.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/event_loop.h"
#include "common/logging.h"
#include "common/peer_filter.h"
#include "common/tcp_socket.h"
#include "web/http_message.h"

namespace tony::web {

/// Serves GET and HEAD, one request per connection, to the peers that a PeerCheck allows; other
/// connections are closed at once and do not count against the limits. Every wait has a deadline,
/// and the size of a request and the number of connections are limited. At the limit, the oldest
/// connection that has not sent its request, or has received its answer, is closed for the new one.
/// Not thread safe: owned by the event loop.
class HttpServer {
 public:
  /// Called once, on the loop, perhaps from within the handler.
  using Respond = std::function<void(HttpResponse)>;
  using Handler = std::function<void(const HttpRequest&, Respond)>;

  struct Limits {
    size_t connections = 64;
    std::chrono::milliseconds request{10'000};   ///< limit for the client to send the request
    std::chrono::milliseconds handling{30'000};  ///< limit for the handler; then the answer is 504
    std::chrono::milliseconds response{60'000};  ///< limit for the client to read the response
  };

  /// Listens on `address`, a numeric address; `port` 0: any free one. `peers`: the peers to serve.
  /// The codes of TcpListener::Listen.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(EventLoop& loop,
                                                           const std::string& address, int port,
                                                           PeerCheck peers, Handler handler,
                                                           Limits limits);
  /// Breaks all connections. A Respond that is called later does nothing.
  ~HttpServer();

  int port() const { return listener_->port(); }

 private:
  class Connection;

  HttpServer(EventLoop& loop, Handler handler, Limits limits);
  void OnAccepted(std::unique_ptr<TcpSocket> socket);
  void Forget(const Connection& connection);

  EventLoop& loop_;
  const Handler handler_;
  const Limits limits_;
  LogLimit crowd_log_;
  LogLimit refused_log_;
  std::list<std::shared_ptr<Connection>> connections_;  ///< oldest first
  std::unique_ptr<TcpListener> listener_;
};

}  // namespace tony::web
