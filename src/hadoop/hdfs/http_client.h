// HTTP requests, one at a time, as WebHDFS needs them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"

namespace tony::hadoop {

struct HttpRequest {
  std::string method;  ///< GET, PUT, POST, DELETE
  std::string url;
  bool negotiate = false;  ///< authenticate by SPNEGO with the user's Kerberos ticket
  /// For a server that another one has named: no cookie goes there, none of its own is kept.
  bool without_cookies = false;
  /// Gives the next bytes of the body, at most `size`, 0 at its end. Null: there is no body.
  std::function<absl::StatusOr<size_t>(char* data, size_t size)> source;
  /// Takes the bytes of the body of a good (2xx) answer. Null: they are in HttpResponse::body.
  std::function<absl::Status(const char* data, size_t size)> sink;
};

struct HttpResponse {
  int code = 0;
  std::string body;      ///< at most 16 MiB
  std::string location;  ///< of a redirection, which is not followed
};

/// Keeps connections between requests, and the cookies of one server: scheme, host and port. A
/// cookie of hadoop.auth is as good as the user's ticket, and by RFC 6265 it would go to each port
/// of its host. Speaks with no proxy, whatever the environment says: Hadoop's clients do not
/// either, and a URL may hold a delegation token. Blocks. Not thread safe.
class HttpClient {
 public:
  /// `timeout`: for connecting, and for how long nothing may move. FailedPrecondition – libcurl is
  /// missing.
  static absl::StatusOr<HttpClient> Create(Duration timeout);
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  /// Any answer of the server is a response, an error's code too. Unavailable – no answer; the
  /// status of `source` or `sink`; FailedPrecondition – libcurl cannot do SPNEGO; ResourceExhausted
  /// – the answer is longer than 16 MiB. Messages name the URL without its query, in which secrets
  /// are.
  absl::StatusOr<HttpResponse> Send(const HttpRequest& request);

 private:
  struct Handle;
  HttpClient(std::unique_ptr<Handle> with_cookies, std::unique_ptr<Handle> without_cookies);

  std::unique_ptr<Handle> with_cookies_;
  std::unique_ptr<Handle> without_cookies_;
};

}  // namespace tony::hadoop
