// The check of host and origin, common to all kinds of access. Both are compared without regard to
// case, as names of hosts are.
#include "web/access/access.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace tony::web {
namespace {

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

}  // namespace tony::web
