#include "jobfile/values/bearer_token.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tony::jobfile {
namespace {

bool CanBeSent(unsigned char letter) {
  return absl::ascii_isalnum(letter) ||
         absl::string_view("-._~+/=").find(static_cast<char>(letter)) != absl::string_view::npos;
}

}  // namespace

absl::StatusOr<std::string> ParseBearerToken(const std::string& text, const std::string& path) {
  std::string token(absl::StripAsciiWhitespace(text));
  const bool sendable = std::all_of(token.begin(), token.end(), CanBeSent);
  if (sendable && token.size() >= kShortestToken && token.size() <= kLongestToken) return token;
  return absl::InvalidArgumentError(
      absl::StrCat(path, " has no token of ", kShortestToken, " to ", kLongestToken,
                   " letters, digits and -._~+/=; make one with: openssl rand -hex 32"));
}

}  // namespace tony::jobfile
