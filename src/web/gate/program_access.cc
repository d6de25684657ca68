// Host and origin are compared first, so that a page under a foreign name never gets to the cookie.
#include "web/gate/program_access.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "web/access/access.h"

namespace tony::web {
namespace {

/// Whether the request comes from a page of another origin. Browsers that do not say so send
/// `Origin`, or no cookie.
bool IsForeign(const RequestHead& head) {
  const std::string& site = head.facts.fetch_site;
  return !site.empty() && site != "same-origin" && site != "none";
}

bool IsNavigation(const RequestHead& head) {
  return head.fetch_mode == "navigate" && (head.method == "GET" || head.method == "HEAD");
}

}  // namespace

ProgramAccess::ProgramAccess(const Clock& clock, Options options)
    : options_(std::move(options)),
      login_(absl::StrCat("/", RandomToken(), "/")),
      cookie_(absl::StrCat("tony-program-", options_.port)),
      visits_(clock, options_.lives) {}

std::string ProgramAccess::origin() const { return LoopbackOrigin(options_.port); }

std::string ProgramAccess::Invite() {
  return absl::StrCat(origin(), login_, "?code=", visits_.MakeCode());
}

std::optional<HttpResponse> ProgramAccess::Check(const RequestHead& head) {
  if (auto refused = CheckLoopbackHostAndOrigin(head.facts, options_.port)) return refused;
  // A service worker would stay in the browser and answer for whoever has this port next, another
  // job's page perhaps.
  if (head.service_worker) {
    return ErrorResponse(403, "A program's page may have no service worker here.");
  }
  if (IsForeign(head) && !IsNavigation(head)) {
    return ErrorResponse(403, "Another page may lead to this one, but not use it.");
  }
  const auto cookie = head.facts.cookies.find(cookie_);
  const bool known = cookie != head.facts.cookies.end() && visits_.Knows(cookie->second);
  if (!absl::StartsWith(head.target, login_)) {
    if (known) return std::nullopt;
    return Refuse("Your browser has no (valid) cookie for it");
  }
  const std::string begin = absl::StrCat(login_, "?code=");
  const std::string code =
      absl::StartsWith(head.target, begin) ? head.target.substr(begin.size()) : "";
  if (head.method == "GET" && visits_.KnowsCode(code)) return Welcome(code);
  // The address of the first visit stays in the browser's history.
  if (known) return Welcome("");
  return Refuse("The code in this address is wrong, too old, or was used already");
}

// Without a code the visitor has a cookie already, and is only led to the program.
HttpResponse ProgramAccess::Welcome(const std::string& code) {
  HttpResponse response;
  response.status = 303;
  response.headers.emplace_back("Location", "/");
  if (!code.empty()) {
    response.headers.emplace_back(
        "Set-Cookie",
        absl::StrCat(cookie_, "=", visits_.Begin(code), "; Path=/; HttpOnly; SameSite=Strict"));
  }
  return response;
}

HttpResponse ProgramAccess::Refuse(const std::string& why) const {
  return ErrorResponse(403,
                       absl::StrCat("This is the TensorBoard, or another program, of a job. ", why,
                                    ". The job's page leads to it: tony open ", options_.job_id));
}

}  // namespace tony::web
