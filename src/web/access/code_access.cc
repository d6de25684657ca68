// Both secrets, codes and cookies, are kept in short queues in memory: they do not survive the
// process, and the oldest give way to new ones.
#include "web/access/code_access.h"

#include <sys/random.h>

#include <cstdlib>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tony::web {
namespace {

constexpr char kCookie[] = "tony-page";
constexpr size_t kTokenBytes = 16;
/// Several people may open the page; the oldest entries go first.
constexpr size_t kMostCodes = 16;
constexpr size_t kMostSessions = 64;

template <typename Secrets>
void KeepAtMost(Secrets& secrets, size_t count) {
  while (secrets.size() > count) secrets.pop_front();
}

}  // namespace

std::string RandomToken() {
  std::string bytes(kTokenBytes, '\0');
  // A read of this size is never cut short once the kernel's generator is ready. Without randomness
  // nothing would be secret, so the process ends.
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::abort();
  }
  return absl::BytesToHexString(bytes);
}

bool EqualInConstantTime(const std::string& left, const std::string& right) {
  if (left.size() != right.size()) return false;
  volatile unsigned char difference = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    difference = difference | static_cast<unsigned char>(left[i] ^ right[i]);
  }
  return difference == 0;
}

CodeAccess::CodeAccess(const Clock& clock, Options options)
    : clock_(clock),
      options_(std::move(options)),
      base_path_(absl::StrCat("/", RandomToken(), "/")),
      hosts_{absl::StrCat("127.0.0.1:", options_.port), absl::StrCat("localhost:", options_.port)},
      origins_{absl::StrCat("http://127.0.0.1:", options_.port),
               absl::StrCat("http://localhost:", options_.port)} {}

std::string CodeAccess::Invite() {
  ForgetOld();
  codes_.push_back({RandomToken(), clock_.Now() + options_.code_life});
  KeepAtMost(codes_, kMostCodes);
  return absl::StrCat("http://", hosts_.front(), base_path_, "?code=", codes_.back().text);
}

// A request must come from this machine and carry the random path before a cookie or a code is
// compared.
std::optional<HttpResponse> CodeAccess::Check(const HttpRequest& request) {
  if (auto refused = CheckHostAndOrigin(request, hosts_, origins_)) return refused;
  if (request.peer_address != "127.0.0.1") return Refuse("It is shown on its own machine only");
  if (!absl::StartsWith(request.path, base_path_)) return Refuse("Who may see it has an address");
  ForgetOld();
  const auto cookie = request.cookies.find(kCookie);
  const bool known =
      cookie != request.cookies.end() && Find(visits_, cookie->second) != visits_.end();
  const auto code = request.query.find("code");
  if (code == request.query.end()) {
    if (known) return std::nullopt;
    return Refuse("Your browser has no (valid) cookie for it");
  }
  const auto found = Find(codes_, code->second);
  if (found == codes_.end()) {
    // A visitor may return to the address of the first visit with a valid cookie.
    if (known) return std::nullopt;
    return Refuse("The code in this address is wrong, too old, or was used already");
  }
  if (request.head) return Refuse("A code is not used up by looking at headers");
  codes_.erase(found);
  return Welcome();
}

// Check() has compared the origin with this server's, if there is one.
std::optional<HttpResponse> CodeAccess::CheckChange(const HttpRequest& request) {
  if (!request.origin.empty() && request.fetch_site == "same-origin") return std::nullopt;
  return ErrorResponse(403,
                       absl::StrCat("Only the job's own page may change something: a request needs "
                                    "its Origin and Sec-Fetch-Site: same-origin. In a terminal: "
                                    "tony kill ",
                                    options_.job_id));
}

void CodeAccess::ForgetOld() {
  const TimePoint now = clock_.Now();
  while (!codes_.empty() && codes_.front().end <= now) codes_.pop_front();
  while (!visits_.empty() && visits_.front().end <= now) visits_.pop_front();
}

// All secrets are compared, without an early exit, so that the time does not tell which one
// matched.
std::deque<CodeAccess::Secret>::iterator CodeAccess::Find(std::deque<Secret>& secrets,
                                                          const std::string& text) {
  auto found = secrets.end();
  for (auto secret = secrets.begin(); secret != secrets.end(); ++secret) {
    if (EqualInConstantTime(secret->text, text)) found = secret;
  }
  return found;
}

HttpResponse CodeAccess::Welcome() {
  visits_.push_back({RandomToken(), clock_.Now() + options_.visit_life});
  KeepAtMost(visits_, kMostSessions);
  HttpResponse response;
  response.status = 303;
  response.headers.emplace_back("Location", "./");
  response.headers.emplace_back(
      "Set-Cookie", absl::StrCat(kCookie, "=", visits_.back().text, "; Path=", base_path_,
                                 "; HttpOnly; SameSite=Strict"));
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
