// The host and the origin are checked before a cookie or a password is looked at.
#include "portal/login/users_access.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files/password_hash.h"
#include "portal/login/called_names.h"
#include "portal/login/login_page.h"
#include "web/http/form.h"
#include "web/page_files.h"

namespace tony::portal {
namespace {

/// Browsers take a cookie of this prefix from the very host only, over TLS, for all of its paths.
constexpr char kCookie[] = "__Host-tony-portal";
constexpr char kCookieRules[] = "; Path=/; Secure; HttpOnly; SameSite=Strict";
constexpr size_t kLongestPassword = 1024;

std::string CookieOf(const web::HttpRequest& request) {
  const auto cookie = request.cookies.find(kCookie);
  return cookie == request.cookies.end() ? "" : cookie->second;
}

web::HttpResponse Leave(const std::string& place, const std::string& cookie) {
  web::HttpResponse response;
  response.status = 303;
  response.headers.emplace_back("Location", place);
  response.headers.emplace_back("Set-Cookie", absl::StrCat(kCookie, "=", cookie));
  return response;
}

/// A form counts only from a page of this portal, whose origin CheckCalledName() has compared.
std::optional<web::HttpResponse> CheckForm(const web::HttpRequest& request) {
  if (request.origin.empty()) {
    return web::ErrorResponse(403, "A form is sent from the portal's own page, with its Origin.");
  }
  if (!absl::StartsWith(request.content_type, "application/x-www-form-urlencoded")) {
    return web::ErrorResponse(415, "The form is sent as application/x-www-form-urlencoded.");
  }
  return std::nullopt;
}

}  // namespace

UsersAccess::UsersAccess(Parts parts)
    : parts_(std::move(parts)),
      file_(parts_.clock, parts_.users_file),
      sessions_(parts_.clock),
      limit_(parts_.clock),
      worker_(parts_.loop) {}

absl::StatusOr<std::unique_ptr<UsersAccess>> UsersAccess::Create(Parts parts) {
  std::unique_ptr<UsersAccess> access(new UsersAccess(std::move(parts)));
  TONY_RETURN_IF_ERROR(access->file_.Read());
  TONY_ASSIGN_OR_RETURN(access->nobodys_hash_, os::HashPassword("nobody's"));
  return access;
}

std::optional<Visitor> UsersAccess::VisitorOf(const web::HttpRequest& request) {
  const std::string token = CookieOf(request);
  if (token.empty()) return std::nullopt;
  const Sessions::Session* const session = sessions_.Find(token);
  if (session == nullptr) return std::nullopt;
  const std::optional<User> user = file_.Find(session->user);
  if (!user || user->hash != session->hash) return std::nullopt;
  return Visitor{session->user, user->role, "password"};
}

std::optional<web::HttpResponse> UsersAccess::CheckSender(const web::HttpRequest& request) {
  return CheckCalledName(request, parts_.names, "https");
}

std::variant<Visitor, web::HttpResponse> UsersAccess::Check(const web::HttpRequest& request) {
  if (auto refused = CheckSender(request)) return *std::move(refused);
  if (std::optional<Visitor> visitor = VisitorOf(request)) return *std::move(visitor);
  if (!absl::StrContains(request.accept, "text/html")) {
    return web::ErrorResponse(403,
                              "Nobody is logged in (any more); load the page again to log in.");
  }
  if (request.fetch_site == "cross-site") return AskAgainPage();
  return LoginPage(403, SafeNext(request.path), "");
}

// The login page's style is no secret.
std::string UsersAccess::Allowed(const std::string& place) const {
  if (place == web::PageStyle().name) return "GET, HEAD";
  return place == "login" || place == "logout" ? "GET, HEAD, POST" : "";
}

void UsersAccess::Handle(const web::HttpRequest& request, const std::string& place,
                         const web::HttpServer::Respond& respond) {
  if (auto refused = CheckSender(request)) return respond(*std::move(refused));
  if (auto file = web::FindPageFile(place, request.accepts_gzip)) return respond(*std::move(file));
  if (request.post) {
    if (auto refused = CheckForm(request)) return respond(*std::move(refused));
    return place == "login" ? LogIn(request, respond) : respond(LogOut(request));
  }
  const std::optional<Visitor> visitor = VisitorOf(request);
  respond(visitor ? LogoutPage(visitor->name) : LoginPage(200, "/", ""));
}

void UsersAccess::LogIn(const web::HttpRequest& request, const web::HttpServer::Respond& respond) {
  const std::optional<std::map<std::string, std::string>> form = web::ReadForm(request.body);
  if (!form) return respond(LoginPage(400, "/", "The form could not be read."));
  const auto field = [&form](const std::string& name) {
    const auto found = form->find(name);
    return found == form->end() ? "" : found->second;
  };
  const Attempt attempt{field("name"), field("password"), SafeNext(field("next")),
                        request.peer_address};
  if (!IsUserName(attempt.name) || attempt.password.empty() ||
      attempt.password.size() > kLongestPassword) {
    return respond(LoginPage(403, attempt.next, "The name or the password is wrong."));
  }
  const std::chrono::seconds wait = limit_.Try(attempt.address, attempt.name);
  if (wait.count() > 0) {
    refused_log_.Log(LogLevel::kWarning, "too many attempts to log in at the portal",
                     {{"user", attempt.name}, {"peer", attempt.address}});
    web::HttpResponse response =
        LoginPage(429, attempt.next,
                  absl::StrCat("There were too many attempts; try again in ",
                               (wait.count() + 59) / 60, " minutes."));
    response.headers.emplace_back("Retry-After", absl::StrCat(wait.count()));
    return respond(std::move(response));
  }
  CheckPassword(attempt, request.abandoned, respond);
}

void UsersAccess::CheckPassword(const Attempt& attempt, Worker::Abandoned abandoned,
                                const web::HttpServer::Respond& respond) {
  const std::optional<User> user = file_.Find(attempt.name);
  const std::string hash = user ? user->hash : nobodys_hash_;
  worker_.Run<bool>(
      std::move(abandoned),
      [password = attempt.password, hash](const Worker::Stop&) {
        return os::CheckPassword(password, hash);
      },
      [this, attempt, hash, respond](const absl::StatusOr<bool>& right) {
        if (!right.ok()) {
          return respond(LoginPage(503, attempt.next, std::string(right.status().message())));
        }
        // The file may have changed meanwhile.
        const std::optional<User> now = file_.Find(attempt.name);
        if (*right && now && now->hash == hash) return respond(Welcome(attempt, *now));
        refused_log_.Log(LogLevel::kWarning, "an attempt to log in at the portal has failed",
                         {{"user", attempt.name}, {"peer", attempt.address}});
        respond(LoginPage(403, attempt.next, "The name or the password is wrong."));
      });
}

web::HttpResponse UsersAccess::Welcome(const Attempt& attempt, const User& user) {
  limit_.Succeeded(attempt.address, attempt.name);
  LogInfo("a user has logged in at the portal",
          {{"user", attempt.name}, {"peer", attempt.address}});
  return Leave(attempt.next, absl::StrCat(sessions_.Begin(attempt.name, user.hash), kCookieRules));
}

web::HttpResponse UsersAccess::LogOut(const web::HttpRequest& request) {
  sessions_.End(CookieOf(request));
  return Leave("/login", absl::StrCat(kCookieRules, "; Max-Age=0"));
}

}  // namespace tony::portal
