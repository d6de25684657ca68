// The form of limits of what each user may have: `8, alice=16, @students=2`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::jobfile {

/// The most that all jobs of one user may have of something, by user. A plain value.
struct UserShares {
  std::optional<int64_t> everybody;       ///< for users without a share of their own
  std::map<std::string, int64_t> users;   ///< by the user's name
  std::map<std::string, int64_t> groups;  ///< by the group's name

  /// The share of one user: the user's own; else the largest of the user's groups; else that for
  /// everybody. nullopt: no limit. `groups_of`: the names of the groups of a user; called only if
  /// it matters.
  std::optional<int64_t> Of(
      const std::string& user,
      const std::function<std::vector<std::string>(const std::string& user)>& groups_of) const;

  bool operator==(const UserShares&) const = default;
};

/// Parses items divided by commas: NUMBER for everybody, USER=NUMBER, @GROUP=NUMBER. `parse_number`
/// returns the number of a text, or nothing. InvalidArgument – an item has another form, or says a
/// second time what an earlier one has said; the message names the item.
absl::StatusOr<UserShares> ParseUserShares(
    const std::string& text,
    const std::function<std::optional<int64_t>(const std::string& number)>& parse_number);

}  // namespace tony::jobfile
