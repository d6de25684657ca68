// Host and origin are compared first, so that a page under a foreign name never gets to the cookie.
#include "web/gate/program_access.h"

#include <algorithm>
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
  const bool known = IsKnown(head);
  if (!absl::StartsWith(head.target, login_)) {
    if (known) return std::nullopt;
    return Refuse("Your browser has no (valid) cookie for it");
  }
  const std::string begin = absl::StrCat(login_, "?code=");
  const std::string code =
      absl::StartsWith(head.target, begin) ? head.target.substr(begin.size()) : "";
  if (head.method == "GET" && visits_.KnowsCode(code)) return Welcome(code, known);
  // The address of the first visit stays in the browser's history.
  if (known) return Welcome("", known);
  return Refuse("The code in this address is wrong, too old, or was used already");
}

// A script of the program may set a cookie with the same name for some of its paths, which browsers
// send first. It must not log the visitor out, so each of them may be the one.
bool ProgramAccess::IsKnown(const RequestHead& head) {
  return std::any_of(head.cookies.begin(), head.cookies.end(), [&](const auto& cookie) {
    return cookie.first == cookie_ && visits_.Knows(cookie.second);
  });
}

// Without a code the visitor has a cookie already, and is only led to the program. A browser that
// comes for the first time may have kept things of another job's program, which had this port
// before. They go; cookies, which are those of all ports, stay.
HttpResponse ProgramAccess::Welcome(const std::string& code, bool known) {
  HttpResponse response;
  response.status = 303;
  response.headers.emplace_back("Location", "/");
  if (!code.empty()) {
    response.headers.emplace_back(
        "Set-Cookie",
        absl::StrCat(cookie_, "=", visits_.Begin(code), "; Path=/; HttpOnly; SameSite=Strict"));
  }
  if (!known) response.headers.emplace_back("Clear-Site-Data", "\"cache\", \"storage\"");
  return response;
}

HttpResponse ProgramAccess::Refuse(const std::string& why) const {
  return ErrorResponse(403,
                       absl::StrCat("This is the TensorBoard, or another program, of a job. ", why,
                                    ". The job's page leads to it: tony open ", options_.job_id));
}

}  // namespace tony::web
