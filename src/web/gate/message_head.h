// The heads of requests and responses that pass through the gate.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "web/http/http_message.h"

namespace tony::web {

/// The lines of a head in their order, without those that concern one connection only (Connection,
/// Upgrade, Keep-Alive, TE, Expect, …). Plain data.
using HeadLines = std::vector<std::pair<std::string, std::string>>;

/// The head of a request. Plain data.
struct RequestHead {
  std::string method;
  std::string target;           ///< as it was sent; begins with '/'
  HeadLines lines;              ///< without Cookie
  HeadLines cookies;            ///< names and values, tony's too; a name may be there repeatedly
  HttpRequest facts;            ///< host, origin, fetch_site, accept
  std::string fetch_mode;       ///< Sec-Fetch-Mode: "navigate"; empty: none
  bool service_worker = false;  ///< a browser asks for the script of a service worker
  bool websocket = false;       ///< the connection is to become a WebSocket
  uint64_t body_bytes = 0;
};

/// The head of a response. Plain data.
struct ResponseHead {
  int status = 0;
  std::string reason;
  HeadLines lines;
  bool websocket = false;  ///< the connection is one now
};

/// Takes the bytes of one request's head as they come. Not thread safe.
class RequestHeadReader {
 public:
  static constexpr size_t kMostBytes = size_t{64} * 1024;
  /// The longest body. It passes piece by piece, so this is not about memory.
  static constexpr uint64_t kMostBodyBytes = uint64_t{4} << 30;

  RequestHeadReader();
  ~RequestHeadReader();

  /// Returns the head, or the response to a refused one; nothing while more bytes are needed. The
  /// bytes behind the head are then in rest(). 400 – it is no request of HTTP/1.1, or names no
  /// single host; 405 – CONNECT or TRACE; 411 – a body of unknown length; 413 – too long a body;
  /// 431 – too long a head.
  std::optional<std::variant<RequestHead, HttpResponse>> Take(const std::string& bytes);
  std::string& rest() { return pending_; }

 private:
  struct Parser;

  const std::unique_ptr<Parser> parser_;
  std::string pending_;
};

/// Takes the bytes of one response's head as they come, and passes over interim ones (1xx). Not
/// thread safe.
class ResponseHeadReader {
 public:
  static constexpr size_t kMostBytes = size_t{256} * 1024;

  ResponseHeadReader();
  ~ResponseHeadReader();

  /// The head; nothing while more bytes are needed. InvalidArgument – this is not HTTP, or too
  /// long.
  absl::StatusOr<std::optional<ResponseHead>> Take(const std::string& bytes);
  std::string& rest() { return pending_; }

 private:
  struct Parser;

  std::unique_ptr<Parser> parser_;
  std::string pending_;
};

/// The bytes of a request for the program: one request per connection. Cookies of tony's own pages
/// are left out, because the program must not learn them.
std::string RenderHead(const RequestHead& head);

/// The bytes of a response for the client. A Location that names the program itself, `authority`
/// ("host:6006") or that port of the loopback address, becomes a path: only the gate leads there.
/// Cookies with names of tony's are left out: they would take the place of a visitor's login. So is
/// Clear-Site-Data, which would end the visitor's logins at all ports.
std::string RenderHead(const ResponseHead& head, const std::string& authority);

/// A Content-Security-Policy for a response of the program with these lines: its own pages and
/// those of the origins `framed_by` may show it in frames, nobody else may. The program's own
/// policies stay in force beside it. X-Frame-Options does not, since browsers ignore it beside such
/// a policy; so what it forbids is forbidden here.
std::string FramePolicy(const HeadLines& lines, const std::vector<std::string>& framed_by);

}  // namespace tony::web
