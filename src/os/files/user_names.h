// Names of users and groups of this machine, for messages about owners of files and processes.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::os {

/// The name of a user, as its owner logs in: "bob"; without an entry in the user database "1001".
/// Thread safe.
std::string UserName(uid_t user);

/// The number of the user who logs in as `name`. NotFound – the user database has none. Otherwise
/// errno codes: the database could not be asked. Thread safe.
absl::StatusOr<uid_t> UserNumber(const std::string& name);

/// The names of the groups to which a user belongs, the primary group among them. Empty: the user
/// is not known. Thread safe.
std::vector<std::string> GroupsOf(const std::string& user);

}  // namespace tony::os
