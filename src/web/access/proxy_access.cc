// The peer's address identifies the proxy first; only then is the user's name in the cookie
// believed.
#include "web/access/proxy_access.h"

#include <cstdio>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/logging.h"

namespace tony::web {
namespace {

constexpr char kUserCookie[] = "proxy-user";

/// Decodes the proxy's encoding of names, which is that of forms: '+' is a space, %XX a byte.
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
  if (!absl::c_linear_search(options_.proxy_addresses, request.peer_address)) {
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
  if (MayView(user)) return std::nullopt;
  refused_log_.Log(LogLevel::kInfo, "a user may not see the page",
                   {{"user", user}, {"peer", request.peer_address}});
  return ErrorResponse(403, absl::StrCat("User ", user, " may not see this job of ", options_.owner,
                                         "'s: neither the job's list of viewers nor "
                                         "the cluster's list of administrators names the user, and "
                                         "this page does not know who is in the groups that they "
                                         "name."));
}

std::optional<HttpResponse> ProxyAccess::CheckChange(const HttpRequest& /*request*/) {
  const std::string command = absl::StrCat("tony kill ", options_.job_id);
  return ProblemResponse(403,
                         absl::StrCat("Nothing can be changed through YARN's proxy, where pages of "
                                      "other applications have the same origin. In a terminal: ",
                                      command),
                         command);
}

PeerCheck ProxyPeerCheck(std::vector<std::string> addresses) {
  return [addresses = std::move(addresses)](const PeerEnds& ends) -> absl::Status {
    if (absl::c_linear_search(addresses, ends.peer_address)) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrCat(
        "a connection from ", ends.peer_address, " was closed, since only YARN's proxy is served (",
        addresses.empty() ? "none is known" : absl::StrJoin(addresses, ", "),
        "); the ResourceManager's page of the application leads to it"));
  };
}

bool ProxyAccess::MayView(const std::string& user) const {
  return user == options_.owner || options_.viewers.Allows(user) ||
         options_.administrators.Allows(user);
}

}  // namespace tony::web
