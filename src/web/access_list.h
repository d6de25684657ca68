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
  /// By name: who is in a group is not known here.
  bool Allows(const std::string& user) const;
};

}  // namespace tony::web
