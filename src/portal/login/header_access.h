// Access through a proxy that has authenticated its users and names them in a header.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/logging.h"
#include "portal/login/portal_access.h"

namespace tony::portal {

/// The header is believed from the proxy's addresses only; a request from any other address is
/// refused, whatever it carries. Not thread safe: owned by the event loop.
class HeaderAccess : public PortalAccess {
 public:
  struct Options {
    std::string header;                  ///< for messages
    std::vector<std::string> addresses;  ///< the proxy's, numeric
    std::vector<std::string> control;    ///< users who may also change something
    std::vector<std::string> names;      ///< for CheckCalledName()
  };

  explicit HeaderAccess(Options options) : options_(std::move(options)) {}

  std::string base_path() const override { return "/"; }
  std::optional<web::HttpResponse> CheckSender(const web::HttpRequest& request) override;
  std::variant<Visitor, web::HttpResponse> Check(const web::HttpRequest& request) override;
  std::string Allowed(const std::string& /*place*/) const override { return ""; }
  void Handle(const web::HttpRequest& request, const std::string& place,
              const web::HttpServer::Respond& respond) override;

 private:
  const Options options_;
  LogLimit refused_log_;
};

}  // namespace tony::portal
