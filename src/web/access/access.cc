// The check of host and origin, common to all kinds of access. Both are compared without regard to
// case, as names of hosts are.
#include "web/access/access.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tony::web {
namespace {

constexpr char kLoopbackHost[] = "127.0.0.1";

bool IsAmong(const std::string& text, const std::vector<std::string>& list) {
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& one) { return absl::EqualsIgnoreCase(text, one); });
}

}  // namespace

std::optional<HttpResponse> CheckHostAndOrigin(const HttpRequest& request,
                                               const std::vector<std::string>& hosts,
                                               const std::vector<std::string>& origins) {
  if (!IsAmong(request.host, hosts)) {
    return ErrorResponse(403, "The page is not called by the name of the host that it is on.");
  }
  if (!request.origin.empty() && !IsAmong(request.origin, origins)) {
    return ErrorResponse(403, "Another site's page may not ask for this one.");
  }
  return std::nullopt;
}

bool IsFromOwnPage(const HttpRequest& request) {
  return !request.origin.empty() && request.fetch_site == "same-origin";
}

std::string LoopbackOrigin(int port) { return absl::StrCat("http://", kLoopbackHost, ":", port); }

// The sentence names the address instead of redirecting to it: a code in it is not led on.
std::optional<HttpResponse> CheckLoopbackHostAndOrigin(const HttpRequest& request, int port) {
  const std::string host = absl::StrCat(kLoopbackHost, ":", port);
  if (!IsAmong(request.host, {host})) {
    return ErrorResponse(
        403, absl::StrCat("The address of this page begins with ", LoopbackOrigin(port),
                          ". Another name is not accepted, not even localhost, which may lead to "
                          "the server of another user at the same port."));
  }
  return CheckHostAndOrigin(request, {host}, {LoopbackOrigin(port)});
}

}  // namespace tony::web
