// Hadoop's lists of who may do something: users and groups.
#pragma once

#include <string>
#include <vector>

namespace tony::web {

/// "alice,bob researchers,admins": users, a space, groups; "*": everybody; " ": nobody. Plain data.
struct AccessList {
  bool everybody = false;
  std::vector<std::string> users;
  std::vector<std::string> groups;

  static AccessList Parse(const std::string& text);
  /// `groups_of_user`: those that `user` is in.
  bool Allows(const std::string& user, const std::vector<std::string>& groups_of_user) const;
};

}  // namespace tony::web
