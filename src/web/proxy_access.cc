// Checking the proxy, and then who uses it.
#include "web/proxy_access.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"

namespace tony::web {
namespace {

constexpr char kUserCookie[] = "proxy-user";

/// The proxy encodes names as forms do: '+' is a space, %XX a byte.
std::string DecodeForm(const std::string& text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::sscanf(text.substr(i + 1, 2).c_str(), "%2x", &value) == 1) {
      decoded += static_cast<char>(value);
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

}  // namespace

std::optional<HttpResponse> ProxyAccess::Check(const HttpRequest& request) {
  const std::vector<std::string>& proxies = options_.proxy_addresses;
  if (std::find(proxies.begin(), proxies.end(), request.peer_address) == proxies.end()) {
    return ErrorResponse(
        403, absl::StrCat("This page is shown through YARN's proxy only: ", options_.page_url));
  }
  if (auto refused = CheckHostAndOrigin(request, options_.hosts, options_.origins)) return refused;
  if (!options_.lists_apply) return std::nullopt;
  const auto cookie = request.cookies.find(kUserCookie);
  if (cookie == request.cookies.end() || cookie->second.empty()) {
    return ErrorResponse(403,
                         "YARN's proxy has not said who you are, and this cluster has lists of who "
                         "may see what (yarn.acl.enable).");
  }
  const std::string user = DecodeForm(cookie->second);
  if (MayLook(user)) return std::nullopt;
  return ErrorResponse(403, absl::StrCat("User ", user, " may not see this job of ", options_.owner,
                                         "'s: neither the job's list of viewers nor "
                                         "the cluster's list of administrators names the user, and "
                                         "this page does not know who is in the groups that they "
                                         "name."));
}

bool ProxyAccess::MayLook(const std::string& user) const {
  return user == options_.owner || options_.viewers.Allows(user) ||
         options_.administrators.Allows(user);
}

}  // namespace tony::web
