// The address, the cookie and its path; the secrets themselves are in visits.h.
#include "web/access/code_access.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tony::web {
namespace {

constexpr char kCookie[] = "tony-page";

}  // namespace

CodeAccess::CodeAccess(const Clock& clock, Options options)
    : options_(std::move(options)),
      base_path_(options_.kept.base_path.empty() ? absl::StrCat("/", RandomToken(), "/")
                                                 : options_.kept.base_path),
      visits_(clock, options_.lives) {
  visits_.Restore(options_.kept.visits);
}

std::string CodeAccess::Invite() {
  return absl::StrCat(LoopbackOrigin(options_.port), base_path_, "?code=", visits_.MakeCode());
}

// A request must come from this machine and carry the random path before a cookie or a code is
// compared.
std::optional<HttpResponse> CodeAccess::Check(const HttpRequest& request) {
  if (auto refused = CheckLoopbackHostAndOrigin(request, options_.port)) return refused;
  if (request.peer_address != "127.0.0.1") return Refuse("It is shown on its own machine only");
  if (!absl::StartsWith(request.path, base_path_)) return Refuse("Who may see it has an address");
  const auto cookie = request.cookies.find(kCookie);
  const bool known = cookie != request.cookies.end() && visits_.Knows(cookie->second);
  const auto code = request.query.find("code");
  if (code == request.query.end()) {
    if (known) return std::nullopt;
    return Refuse("Your browser has no (valid) cookie for it");
  }
  if (!visits_.KnowsCode(code->second)) {
    // A visitor may return to the address of the first visit with a valid cookie.
    if (known) return std::nullopt;
    return Refuse("The code in this address is wrong, too old, or was used already");
  }
  if (request.head) return Refuse("A code is not used up by looking at headers");
  return Welcome(code->second);
}

// Check() has compared the origin with this server's, if there is one.
std::optional<HttpResponse> CodeAccess::CheckChange(const HttpRequest& request) {
  if (IsFromOwnPage(request)) return std::nullopt;
  return ErrorResponse(403,
                       absl::StrCat("Only the job's own page may change something: a request needs "
                                    "its Origin and Sec-Fetch-Site: same-origin. In a terminal: "
                                    "tony kill ",
                                    options_.job_id));
}

HttpResponse CodeAccess::Welcome(const std::string& code) {
  const std::string visit = visits_.Begin(code);
  if (options_.on_visit != nullptr) options_.on_visit({base_path_, visits_.Keep()});
  HttpResponse response;
  response.status = 303;
  response.headers.emplace_back("Location", "./");
  response.headers.emplace_back(
      "Set-Cookie",
      absl::StrCat(kCookie, "=", visit, "; Path=", base_path_, "; HttpOnly; SameSite=Strict"));
  return response;
}

HttpResponse CodeAccess::Refuse(const std::string& why) const {
  const std::string remedy =
      options_.remedy.empty()
          ? absl::StrCat("The command  tony open ", options_.job_id, "  gives you an address.")
          : options_.remedy;
  return ErrorResponse(403, absl::StrCat("This is ", options_.what, ". ", why, ". ", remedy));
}

}  // namespace tony::web
