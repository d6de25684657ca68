// Splits at semicolons: values with quoted ones are not sent by browsers.
#include "web/http/cookies.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tony::web {

std::vector<std::pair<std::string, std::string>> SplitCookies(const std::string& header) {
  std::vector<std::pair<std::string, std::string>> cookies;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(header, ';'))) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos) continue;
    cookies.emplace_back(std::string(absl::StripAsciiWhitespace(part.substr(0, equals))),
                         std::string(absl::StripAsciiWhitespace(part.substr(equals + 1))));
  }
  return cookies;
}

std::string CookiesWithout(const std::string& header, const std::string& prefix) {
  std::string joined;
  for (const auto& [name, value] : SplitCookies(header)) {
    if (absl::StartsWith(name, prefix)) continue;
    absl::StrAppend(&joined, joined.empty() ? "" : "; ", name, "=", value);
  }
  return joined;
}

}  // namespace tony::web
