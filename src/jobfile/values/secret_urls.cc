// The authority ends at the first of "/?#" (RFC 3986, section 3.2). What cannot be divided safely
// is not shown at all.
#include "jobfile/values/secret_urls.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jobfile/values/values.h"

namespace tony::jobfile {
namespace {

constexpr size_t kLongest = 2048;
constexpr char kHidden[] = "[redacted]";

size_t HostOf(const std::string& url) {
  for (const std::string scheme : {"http://", "https://"}) {
    if (absl::StartsWithIgnoreCase(url, scheme)) return scheme.size();
  }
  return std::string::npos;
}

std::string AuthorityOf(const std::string& url, size_t host) {
  return url.substr(host, std::min(url.find_first_of("/?#", host), url.size()) - host);
}

}  // namespace

std::string SecretUrlTrouble(const std::string& url) {
  if (url.size() > kLongest) return absl::StrCat("has more than ", kLongest, " characters");
  const bool plain = std::all_of(url.begin(), url.end(), [](unsigned char letter) {
    return absl::ascii_isgraph(letter) && letter != '\\';
  });
  if (!plain) return "has a space, a backslash or another character that URLs do not have";
  const size_t host = HostOf(url);
  if (host == std::string::npos) return "begins with neither http:// nor https://";
  const std::string authority = AuthorityOf(url, host);
  if (absl::StrContains(authority, "@")) return "names a user or a password";
  if (authority.empty() || authority[0] == ':') return "names no host";
  return "";
}

std::string SecretUrlServer(const std::string& url) {
  if (!SecretUrlTrouble(url).empty()) return kHidden;
  const size_t host = HostOf(url);
  return absl::StrCat(url.substr(0, host), AuthorityOf(url, host));
}

std::string ShownSecretUrls(const std::string& list) {
  std::vector<std::string> shown;
  for (const std::string& url : SplitList(list)) {
    const std::string server = SecretUrlServer(url);
    shown.push_back(server == kHidden ? server : absl::StrCat(server, "/", kHidden));
  }
  return absl::StrJoin(shown, ",");
}

}  // namespace tony::jobfile
