// The rule of the most specific share: a user's own one may also be lower than the group's.
#include "jobfile/values/user_shares.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "jobfile/values/values.h"

namespace tony::jobfile {

std::optional<int64_t> UserShares::Of(
    const std::string& user,
    const std::function<std::vector<std::string>(const std::string& user)>& groups_of) const {
  if (const auto own = users.find(user); own != users.end()) return own->second;
  std::optional<int64_t> most;
  if (!groups.empty()) {
    for (const std::string& group : groups_of(user)) {
      const auto found = groups.find(group);
      if (found != groups.end()) most = std::max(most.value_or(0), found->second);
    }
  }
  return most ? most : everybody;
}

absl::StatusOr<UserShares> ParseUserShares(
    const std::string& text,
    const std::function<std::optional<int64_t>(const std::string& number)>& parse_number) {
  UserShares shares;
  for (const std::string& item : SplitList(text)) {
    const auto pair = ParseKeyValue(item);
    const auto number = parse_number(pair ? pair->second : item);
    const bool is_group = pair && pair->first.size() > 1 && pair->first[0] == '@';
    if (!number || *number < 0 || (pair && pair->first == "@")) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", item, "' is not of the form NUMBER, USER=NUMBER or @GROUP=NUMBER"));
    }
    bool is_new = true;
    if (is_group) {
      is_new = shares.groups.emplace(pair->first.substr(1), *number).second;
    } else if (pair) {
      is_new = shares.users.emplace(pair->first, *number).second;
    } else {
      is_new = !shares.everybody;
      shares.everybody = number;
    }
    if (!is_new) {
      return absl::InvalidArgumentError(absl::StrCat("'", item, "' is the second of its kind"));
    }
  }
  return shares;
}

}  // namespace tony::jobfile
