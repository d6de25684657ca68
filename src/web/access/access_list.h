// Hadoop's access control lists: the users and groups that may do something.
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
  /// Compares names of users only: the members of groups are not known here.
  bool Allows(const std::string& user) const;
};

}  // namespace tony::web
