// Sends one alert to one webhook, signed.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "core/alerts/alert_retry.h"
#include "http/http_client.h"

namespace tony::appmaster {

/// One alert, ready to be sent. A plain value.
struct AlertMessage {
  std::string id;
  std::string event;
  std::string body;  ///< JSON
};

/// The signature's header value: "sha256=" and HMAC-SHA256 of `timestamp`, "." and `body` in hex.
/// With the timestamp inside, a receiver can refuse a message that somebody sends once more.
/// Internal – OpenSSL has no SHA-256.
absl::StatusOr<std::string> AlertSignature(const std::string& secret, const std::string& timestamp,
                                           const std::string& body);

/// A webhook. Blocks; not thread safe: owned by its sender's thread.
class AlertPost {
 public:
  /// `url`: see jobfile::SecretUrlTrouble(). `secret`: of the signature; empty: none is sent.
  /// FailedPrecondition – there is no libcurl.
  static absl::StatusOr<AlertPost> Create(const std::string& url, const std::string& secret,
                                          const http::Network& network,
                                          std::shared_ptr<const Clock> clock);

  /// Sends the message once, in at most ten seconds. Redirections are not followed. The answer's
  /// text names no more than the server.
  core::AlertAnswer Send(const AlertMessage& message);

 private:
  AlertPost(http::HttpClient client, std::string url, std::string secret,
            std::shared_ptr<const Clock> clock);

  http::HttpClient client_;
  std::string url_;
  std::string secret_;
  std::shared_ptr<const Clock> clock_;
};

}  // namespace tony::appmaster
