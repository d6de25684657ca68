// Names are compared without regard to case.
#include "portal/login/called_names.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tony::portal {
namespace {

/// "[::1]:80" is "[::1]", "host:80" is "host".
std::string WithoutPort(const std::string& host) {
  const size_t from = absl::StartsWith(host, "[") ? host.find(']') : 0;
  return from == std::string::npos ? host : host.substr(0, host.find(':', from));
}

}  // namespace

std::optional<web::HttpResponse> CheckCalledName(const web::HttpRequest& request,
                                                 const std::vector<std::string>& names,
                                                 const std::string& scheme) {
  const std::string name = WithoutPort(request.host);
  const bool known = std::any_of(names.begin(), names.end(), [&](const std::string& each) {
    return absl::EqualsIgnoreCase(each, name);
  });
  if (!known) {
    return web::ErrorResponse(
        403, absl::StrCat("The portal is not known by the name ", name, " but by ",
                          absl::StrJoin(names, ", "),
                          "; who runs it can add a name with  tony portal --name NAME."));
  }
  if (request.origin.empty()) return std::nullopt;
  const std::string rest = absl::StrCat("://", request.host);
  const bool own = scheme.empty() ? absl::EqualsIgnoreCase(request.origin, "https" + rest) ||
                                        absl::EqualsIgnoreCase(request.origin, "http" + rest)
                                  : absl::EqualsIgnoreCase(request.origin, scheme + rest);
  if (own) return std::nullopt;
  return web::ErrorResponse(403, "Another site's page may not ask for this one.");
}

}  // namespace tony::portal
