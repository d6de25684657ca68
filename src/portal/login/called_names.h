// The names under which browsers call a portal of several users.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "web/http/http_message.h"

namespace tony::portal {

/// Returns 403 unless the request's host is one of `names` ("portal.example.org", "10.0.0.7",
/// "[::1]"), at any port, and its origin, if it has one, is that of the very host. A page of
/// another port of the same host has another origin. This stops DNS rebinding (a foreign name that
/// leads here) and requests of other sites' pages. `scheme`: of the origins, "https" or "http";
/// empty: either, behind a proxy.
std::optional<web::HttpResponse> CheckCalledName(const web::HttpRequest& request,
                                                 const std::vector<std::string>& names,
                                                 const std::string& scheme);

}  // namespace tony::portal
