// A small HTTP/1.1 server on the event loop, for pages that are looked at.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/event_loop.h"
#include "common/peer_filter.h"
#include "common/tcp_socket.h"
#include "web/http_message.h"

namespace tony::web {

/// GET and HEAD, one request for each connection, for the peers that a PeerCheck allows: others are
/// closed at once, and take no place from these. No wait is without a deadline, and neither the
/// size of a request nor the number of connections is without a limit: when it is reached, the
/// oldest connection that has not sent its request, or has its answer, makes room for the new one.
/// Not thread safe: owned by the event loop.
class HttpServer {
 public:
  /// To be called once, on the loop, maybe from within the handler.
  using Respond = std::function<void(HttpResponse)>;
  using Handler = std::function<void(const HttpRequest&, Respond)>;

  struct Limits {
    size_t connections = 64;
    std::chrono::milliseconds request{10'000};   ///< for the client, to send it
    std::chrono::milliseconds handling{30'000};  ///< for the handler; then 504 is answered
    std::chrono::milliseconds response{60'000};  ///< for the client, to take it
  };

  /// Listens on `address`, a number; port 0: any free one. `peers`: whom it serves. The codes of
  /// TcpListener::Listen.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(EventLoop& loop,
                                                           const std::string& address, int port,
                                                           PeerCheck peers, Handler handler,
                                                           Limits limits);
  /// Breaks what is open. A Respond that comes later does nothing.
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
  std::list<std::shared_ptr<Connection>> connections_;  ///< oldest first
  std::unique_ptr<TcpListener> listener_;
};

}  // namespace tony::web
