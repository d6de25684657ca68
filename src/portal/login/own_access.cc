// The code and the cookie are those of the job's page.
#include "portal/login/own_access.h"

#include <optional>

namespace tony::portal {
namespace {

web::CodeAccess::Options OptionsOf(int port) {
  web::CodeAccess::Options options;
  options.port = port;
  options.what = "tony's portal";
  options.remedy = "Enter in the terminal of  tony portal  prints another address.";
  return options;
}

}  // namespace

OwnAccess::OwnAccess(const Clock& clock, int port, std::string user)
    : port_(port), user_(std::move(user)), codes_(clock, OptionsOf(port)) {}

std::optional<web::HttpResponse> OwnAccess::CheckSender(const web::HttpRequest& request) {
  return web::CheckLoopbackHostAndOrigin(request, port_);
}

std::variant<Visitor, web::HttpResponse> OwnAccess::Check(const web::HttpRequest& request) {
  if (std::optional<web::HttpResponse> refused = codes_.Check(request)) return *std::move(refused);
  return Visitor{user_, Role::kControl, "code"};
}

void OwnAccess::Handle(const web::HttpRequest& /*request*/, const std::string& /*place*/,
                       const web::HttpServer::Respond& respond) {
  respond(web::ErrorResponse(404, "This portal has no login."));
}

}  // namespace tony::portal
