// A web server on loopback whose answers the test writes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hadoop/rpc/tcp_stream.h"

namespace tony::hadoop {

class LoopbackCertificate;

/// Answers one request after the other, on a thread of its own. Thread safe.
class FakeHttpServer {
 public:
  struct Request {
    std::string method;
    std::string target;   ///< path and query
    std::string headers;  ///< lines
    std::string body;
  };
  struct Response {
    int code = 200;
    std::string body;
    std::string location;
    std::string cookie;  ///< name=value
  };
  using Handler = std::function<Response(const Request& request)>;

  explicit FakeHttpServer(Handler handler);
  /// Speaks TLS with `certificate`, which is copied.
  FakeHttpServer(Handler handler, const LoopbackCertificate& certificate);
  ~FakeHttpServer();

  Endpoint endpoint() const;
  std::string Url(const std::string& target) const;
  /// The requests received so far.
  std::vector<Request> requests() const;

 private:
  class Acceptor;
  std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace tony::hadoop
