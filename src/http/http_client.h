// A blocking HTTP client with the few features that WebHDFS, NodeManagers and webhooks need.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"

namespace tony::http {

struct CurlLibrary;

/// One request. A plain value.
struct HttpRequest {
  std::string method;  ///< GET, PUT, POST, DELETE
  std::string url;
  bool negotiate = false;  ///< authenticate by SPNEGO with the user's Kerberos ticket
  /// No cookie is sent, and none of the answer is kept. Set for a server that another server has
  /// named, such as a DataNode.
  bool without_cookies = false;
  /// Writes the next bytes of the body to `data`, at most `size`; returns their number, 0 at the
  /// end of the body. Null: the request has no body.
  std::function<absl::StatusOr<size_t>(char* data, size_t size)> source;
  /// A short body, sent with its length; `source` is null then.
  std::optional<std::string> body;
  /// Header lines, "Name: value", in place of the Content-Type of all other requests. None holds a
  /// line break.
  std::vector<std::string> headers;
  /// The limit for the whole request; zero: none.
  Duration deadline{0};
  /// The URL's path is a secret: messages name the server only.
  bool secret_path = false;
  /// Receives the body of a 2xx answer, piece by piece. Null: the body is in HttpResponse::body.
  std::function<absl::Status(const char* data, size_t size)> sink;
  /// Ends the request, within a second or so, whatever the server does: libcurl asks once a second.
  std::stop_token stop;
};

/// The server's answer. A plain value.
struct HttpResponse {
  int code = 0;
  std::string body;                     ///< at most 16 MiB
  std::string location;                 ///< the target of a redirection, which is not followed
  std::chrono::seconds retry_after{0};  ///< the header Retry-After; 0: there is none
};

/// How servers are reached and checked. A plain value.
struct Network {
  /// "http://HOST:PORT" of a proxy, which connects for requests of https and forwards those of
  /// http. Empty: none.
  std::string proxy = "";
  /// PEM file with the authorities whose certificates are accepted, in place of the machine's own.
  /// Empty: the machine's.
  std::string ca_file = "";
};

/// Whether a request failed, as Unavailable, because the server's certificate is not trusted.
bool IsDistrusted(const absl::Status& status);

/// Sends requests one after the other. Connections are kept between requests.
///
/// Cookies are kept for one server only: one scheme, host and port. The cookie hadoop.auth is worth
/// as much as the user's ticket, and RFC 6265 would send it to every port of the host.
///
/// Proxies of the environment are ignored: Hadoop's own clients use none either, and a URL may hold
/// a delegation token. Blocks. Not thread safe.
class HttpClient {
 public:
  /// `timeout`: the limit for connecting, and for the time in which no byte moves.
  /// FailedPrecondition – libcurl is missing, or does not take an option on which the safety of
  /// requests depends.
  static absl::StatusOr<HttpClient> Create(Duration timeout, const Network& network = {});
  /// The same with another libcurl, which outlives the client. FailedPrecondition – see above.
  static absl::StatusOr<HttpClient> Create(Duration timeout, const Network& network,
                                           const CurlLibrary& library);
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  /// Sends `request` and returns the server's answer, whatever its code. Unavailable – the server
  /// does not answer; Cancelled – HttpRequest::stop; FailedPrecondition – libcurl cannot do SPNEGO;
  /// ResourceExhausted – the answer is longer than 16 MiB; otherwise the status of `source` or
  /// `sink`. Messages name the URL without its query, which holds secrets, or the server alone
  /// (HttpRequest::secret_path).
  absl::StatusOr<HttpResponse> Send(const HttpRequest& request);

 private:
  struct Handle;
  HttpClient(std::unique_ptr<Handle> with_cookies, std::unique_ptr<Handle> without_cookies);

  std::unique_ptr<Handle> with_cookies_;
  std::unique_ptr<Handle> without_cookies_;
};

}  // namespace tony::http
