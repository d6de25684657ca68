// The peer's address comes first; only then is a header looked at.
#include "portal/login/header_access.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "portal/login/called_names.h"

namespace tony::portal {
namespace {

constexpr size_t kLongestName = 256;

bool Contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

/// Names of other systems may have any letters, but none that steers a log or a terminal.
bool IsName(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName &&
         std::none_of(name.begin(), name.end(),
                      [](unsigned char letter) { return absl::ascii_iscntrl(letter); });
}

}  // namespace

std::optional<web::HttpResponse> HeaderAccess::CheckSender(const web::HttpRequest& request) {
  if (!Contains(options_.addresses, request.peer_address)) {
    refused_log_.Log(LogLevel::kWarning, "a request has not come through the portal's proxy",
                     {{"peer", request.peer_address}});
    return web::ErrorResponse(
        403,
        "You are not logged in: this portal is reached through its proxy only, which says who "
        "you are.");
  }
  return CheckCalledName(request, options_.names, "");
}

std::variant<Visitor, web::HttpResponse> HeaderAccess::Check(const web::HttpRequest& request) {
  if (auto refused = CheckSender(request)) return *std::move(refused);
  if (request.user_names.size() != 1 || !IsName(request.user_names[0])) {
    return web::ErrorResponse(
        403, absl::StrCat("You are not logged in: the proxy has not said who you are, with exactly "
                          "one header ",
                          options_.header, "."));
  }
  const std::string& user = request.user_names[0];
  return Visitor{user, Contains(options_.control, user) ? Role::kControl : Role::kView, "header"};
}

void HeaderAccess::Handle(const web::HttpRequest& /*request*/, const std::string& /*place*/,
                          const web::HttpServer::Respond& respond) {
  respond(web::ErrorResponse(404, "The portal's proxy has the login."));
}

}  // namespace tony::portal
