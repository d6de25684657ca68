// Access of the user who runs the portal, by the address that it prints.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "common/clock.h"
#include "portal/login/portal_access.h"
#include "web/access/code_access.h"

namespace tony::portal {

/// A web::CodeAccess whose visitors are all the portal's own user. Not thread safe: owned by the
/// event loop.
class OwnAccess : public PortalAccess {
 public:
  /// `user`: who runs the portal, listening on `port` of 127.0.0.1. `clock` must outlive this.
  OwnAccess(const Clock& clock, int port, std::string user);

  /// The URL to visit, good for one visit.
  std::string Invite() { return codes_.Invite(); }

  std::string base_path() const override { return codes_.base_path(); }
  std::optional<web::HttpResponse> CheckSender(const web::HttpRequest& request) override;
  std::variant<Visitor, web::HttpResponse> Check(const web::HttpRequest& request) override;
  std::string Allowed(const std::string& /*place*/) const override { return ""; }
  void Handle(const web::HttpRequest& request, const std::string& place,
              const web::HttpServer::Respond& respond) override;

 private:
  const int port_;
  const std::string user_;
  web::CodeAccess codes_;
};

}  // namespace tony::portal
