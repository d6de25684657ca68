// The check of who looks at the portal, and what they may do there.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "web/http/http_message.h"
#include "web/http/http_server.h"

namespace tony::portal {

/// What a visitor may do.
enum class Role {
  kView,     ///< look at everything
  kControl,  ///< also end a job that runs on the portal's machine
};

/// "view" or "control".
std::string RoleName(Role role);

/// Plain data.
struct Visitor {
  std::string name;
  Role role = Role::kView;
  std::string login;  ///< the way they came: "code", "password", "header" or "token"
};

/// Not thread safe: owned by the event loop.
class PortalAccess {
 public:
  virtual ~PortalAccess() = default;

  /// The path under which the pages lie: "/" or "/…/".
  virtual std::string base_path() const = 0;
  /// The part of Check() that is about no person: returns the answer to send if the request comes
  /// from a place, or calls the portal by a name, that is not served.
  virtual std::optional<web::HttpResponse> CheckSender(const web::HttpRequest& request) = 0;
  /// Who sent the request, or the answer to send instead of a page.
  virtual std::variant<Visitor, web::HttpResponse> Check(const web::HttpRequest& request) = 0;
  /// The methods of an address of the login itself, relative to the base path; empty: it is none.
  virtual std::string Allowed(const std::string& place) const = 0;
  /// Answers a request to an address for which Allowed() names methods. It need not have passed
  /// Check().
  virtual void Handle(const web::HttpRequest& request, const std::string& place,
                      const web::HttpServer::Respond& respond) = 0;
};

}  // namespace tony::portal
