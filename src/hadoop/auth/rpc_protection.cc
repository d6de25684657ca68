// The required minimum comes from core-site.xml and bounds the choice of each connection.
#include "hadoop/auth/rpc_protection.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "hadoop/config/configuration.h"

namespace tony::hadoop {
namespace {

constexpr char kKey[] = "hadoop.rpc.protection";
constexpr Protection kAll[] = {Protection::kAuthentication, Protection::kIntegrity,
                               Protection::kPrivacy};

std::optional<Protection> ParseProtection(const std::string& word) {
  for (const Protection protection : kAll) {
    if (absl::EqualsIgnoreCase(word, ProtectionName(protection))) return protection;
  }
  return std::nullopt;
}

}  // namespace

const char* ProtectionName(Protection protection) {
  switch (protection) {
    case Protection::kAuthentication:
      return "authentication";
    case Protection::kIntegrity:
      return "integrity";
    case Protection::kPrivacy:
      return "privacy";
  }
  return "authentication";
}

absl::StatusOr<RequiredProtection> ReadRequiredProtection(const Configuration& configuration) {
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> words, configuration.List(kKey));
  if (words.empty()) return RequiredProtection{};
  // A Java client accepts every listed value, so the weakest one is the bound.
  Protection minimum = Protection::kPrivacy;
  for (const std::string& word : words) {
    const std::optional<Protection> protection = ParseProtection(word);
    if (!protection) {
      return configuration.Complaint(
          absl::StatusCode::kInvalidArgument, kKey, absl::StrCat("'", word, "' is not known"),
          "write authentication, integrity or privacy, or several of them with commas");
    }
    minimum = std::min(minimum, *protection);
  }
  return RequiredProtection{minimum, absl::StrCat(kKey, " = ", absl::StrJoin(words, ","), " (",
                                                  configuration.Where(kKey), ")")};
}

absl::StatusOr<Protection> ChooseProtection(const std::vector<Protection>& usable,
                                            const RequiredProtection& required,
                                            const std::string& offered) {
  const auto strongest = std::max_element(usable.begin(), usable.end());
  if (strongest == usable.end()) {
    return absl::UnimplementedError(absl::StrCat(
        "the server offers no protection that is known here (auth, auth-int, auth-conf with 3des "
        "or rc4), only ",
        offered));
  }
  // The offer arrives before authentication, so a man in the middle can shorten it. Only the user's
  // own minimum stops such a downgrade.
  if (*strongest >= required.minimum) return *strongest;
  return absl::PermissionDeniedError(
      absl::StrCat("the server offers only ", offered, ", less than ", required.demand,
                   " asks for; give the servers the same value, or list a weaker one there, too. "
                   "If they have it already, somebody in between has changed their offer"));
}

}  // namespace tony::hadoop
