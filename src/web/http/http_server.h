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
#include "web/http/http_message.h"
#include "web/http/request_reader.h"

namespace tony::web {

/// Serves one request after another on each connection (no pipelining), to the peers that a
/// PeerCheck allows; other connections are closed at once and do not count against the limits.
/// Every wait has a deadline, and the size of a request and the number of connections are limited.
/// At the limit, the oldest connection that has not sent its request, or has received its answer,
/// is closed for the new one. A connection whose response has a BodySource counts as a stream
/// instead; one stream too many is answered with 503. Not thread safe: owned by the event loop.
class HttpServer {
 public:
  /// Called once, on the loop, perhaps from within the handler.
  using Respond = std::function<void(HttpResponse)>;
  using Handler = std::function<void(const HttpRequest&, Respond)>;

  struct Limits {
    size_t connections = 64;
    size_t streams = 512;                        ///< responses with a BodySource
    std::chrono::milliseconds request{10'000};   ///< limit for the client to send the request
    std::chrono::milliseconds handling{30'000};  ///< limit for the handler; then the answer is 504
    std::chrono::milliseconds response{60'000};  ///< limit for the client to read the response
    std::chrono::milliseconds idle{15'000};      ///< limit for the client to send another request
    std::chrono::milliseconds piece{30'000};  ///< limit for the client to read a piece of a stream
    /// Longer answers are compressed for clients on other hosts that accept it.
    size_t compressed = size_t{16} * 1024;
  };

  /// What only some servers have.
  struct Extras {
    TcpListener::Wrap wrap = nullptr;  ///< TLS; null: plain HTTP
    std::string user_header = "";      ///< for RequestReader; empty: none
    int socket = -1;  ///< bound already, used in place of the address and port; -1: none
  };

  /// Listens on `address`, a numeric address; `port` 0: any free one. `peers`: the peers to serve.
  /// `allowed`: the methods of each path. The codes of TcpListener::Listen.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(EventLoop& loop,
                                                           const std::string& address, int port,
                                                           PeerCheck peers, Handler handler,
                                                           Limits limits,
                                                           AllowedMethods allowed = &OnlyLooking);
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(EventLoop& loop,
                                                           const std::string& address, int port,
                                                           PeerCheck peers, Handler handler,
                                                           Limits limits, AllowedMethods allowed,
                                                           Extras extras);
  /// Breaks all connections. A Respond that is called later does nothing.
  ~HttpServer();

  int port() const { return listener_->port(); }

 private:
  class Connection;

  HttpServer(EventLoop& loop, Handler handler, Limits limits, AllowedMethods allowed,
             const Extras& extras);
  void OnAccepted(std::unique_ptr<TcpSocket> socket);
  void Forget(const Connection& connection);
  /// Counts a connection as a stream from now on; false: there are too many of them.
  bool MakeStream(const Connection& connection);

  EventLoop& loop_;
  const Handler handler_;
  const Limits limits_;
  const AllowedMethods allowed_;
  const bool encrypted_;
  const std::string user_header_;
  LogLimit crowd_log_;
  LogLimit refused_log_;
  std::list<std::shared_ptr<Connection>> connections_;  ///< oldest first
  std::list<std::shared_ptr<Connection>> streams_;
  std::unique_ptr<TcpListener> listener_;
};

}  // namespace tony::web
