// A request without any token is no guess, so it does not count as an attempt. The right token is
// let in whatever else has come from its address: it is too long to be guessed, and behind a proxy
// all come from one address.
#include "web/access/metrics_token.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "web/access/visits.h"

namespace tony::web {
namespace {

constexpr absl::string_view kScheme = "Bearer ";

HttpResponse Unauthorized(const std::string& sentence, const std::string& challenge) {
  HttpResponse response = ProblemResponse(401, sentence);
  response.headers.emplace_back("WWW-Authenticate", challenge);
  return response;
}

HttpResponse TooMany(std::chrono::seconds wait) {
  HttpResponse response = ProblemResponse(
      429, absl::StrCat("Too many wrong tokens came from this address; try again in ", wait.count(),
                        " seconds."));
  response.headers = {{"Retry-After", absl::StrCat(wait.count())}};
  return response;
}

}  // namespace

std::optional<HttpResponse> MetricsToken::Check(const HttpRequest& request) {
  absl::string_view given = request.authorization;
  if (!absl::StartsWithIgnoreCase(given, kScheme)) {
    return Unauthorized(
        "Metrics are for programs that have their token: Authorization: Bearer TOKEN.",
        "Bearer realm=\"metrics\"");
  }
  given = absl::StripAsciiWhitespace(given.substr(kScheme.size()));
  const std::string& address = request.peer_address;
  if (EqualInConstantTime(std::string(given), token_)) return std::nullopt;
  const std::chrono::seconds wait = limit_.Try(address, address);
  if (wait.count() > 0) return TooMany(wait);
  refused_log_.Log(LogLevel::kWarning, "a request for metrics had a wrong token",
                   {{"peer", address}});
  return Unauthorized("The token is not the one of these metrics.",
                      "Bearer realm=\"metrics\", error=\"invalid_token\"");
}

}  // namespace tony::web
