// Access by name and password, from a file of users.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/clock.h"
#include "common/event_loop.h"
#include "common/logging.h"
#include "common/worker.h"
#include "portal/login/portal_access.h"
#include "portal/login/sessions.h"
#include "portal/login/users_file.h"
#include "web/access/attempt_limit.h"

namespace tony::portal {

/// A visitor without a session gets the login page in place of any other; programs get a problem
/// that says so. A session's cookie is sent over TLS only, from pages of this site only, and cannot
/// be read by scripts:
///
///   POST /login ─▶ AttemptLimit ─▶ scrypt, on a thread ─▶ 303 with the cookie
///   POST /logout ─▶ the session ends
///
/// Passwords are checked one after another, so that logins use one core and 64 MiB at most. Not
/// thread safe: owned by the event loop.
class UsersAccess : public PortalAccess {
 public:
  struct Parts {
    EventLoop& loop;
    const Clock& clock;
    std::string users_file;
    std::vector<std::string> names;  ///< for CheckCalledName()
  };

  /// The references must outlive this. The codes of UsersFile::Read(), and of os::HashPassword().
  static absl::StatusOr<std::unique_ptr<UsersAccess>> Create(Parts parts);

  std::string base_path() const override { return "/"; }
  std::optional<web::HttpResponse> CheckSender(const web::HttpRequest& request) override;
  std::variant<Visitor, web::HttpResponse> Check(const web::HttpRequest& request) override;
  std::string Allowed(const std::string& place) const override;
  void Handle(const web::HttpRequest& request, const std::string& place,
              const web::HttpServer::Respond& respond) override;

 private:
  /// What the form of the login page holds.
  struct Attempt {
    std::string name, password, next, address;
  };

  explicit UsersAccess(Parts parts);
  /// The visitor of the request's cookie; nothing: there is no such session.
  std::optional<Visitor> VisitorOf(const web::HttpRequest& request);
  void LogIn(const web::HttpRequest& request, const web::HttpServer::Respond& respond);
  /// `abandoned`: as in web::HttpRequest.
  void CheckPassword(const Attempt& attempt, Worker::Abandoned abandoned,
                     const web::HttpServer::Respond& respond);
  web::HttpResponse Welcome(const Attempt& attempt, const User& user);
  web::HttpResponse LogOut(const web::HttpRequest& request);

  const Parts parts_;
  UsersFile file_;
  Sessions sessions_;
  web::AttemptLimit limit_;
  std::string nobodys_hash_;  ///< checked for a name that does not exist, which takes as long
  LogLimit refused_log_;
  Worker worker_;
};

}  // namespace tony::portal
