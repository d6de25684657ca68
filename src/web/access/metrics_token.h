// The token with which a program such as Prometheus reads metrics.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "common/clock.h"
#include "common/logging.h"
#include "web/access/attempt_limit.h"
#include "web/http/http_message.h"

namespace tony::web {

/// Checks `Authorization: Bearer TOKEN` (RFC 6750). Such a program can neither exchange a code for
/// a cookie nor know a page's random path, so this lets it read metrics at a path of their own, and
/// nothing else. Wrong tokens count as wrong passwords do (AttemptLimit), each by the address that
/// it comes from; they keep nobody who has the right one from the metrics.
/// Not thread safe: owned by the event loop.
class MetricsToken {
 public:
  /// `token` must not be empty. `clock` must outlive this.
  MetricsToken(const Clock& clock, std::string token) : token_(std::move(token)), limit_(clock) {}

  /// Returns nothing if the request carries the token; else the response: 401, or 429 after too
  /// many wrong ones.
  std::optional<HttpResponse> Check(const HttpRequest& request);

 private:
  const std::string token_;
  AttemptLimit limit_;
  LogLimit refused_log_;
};

}  // namespace tony::web
