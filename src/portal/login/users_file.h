// The file of a portal's users.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "portal/login/portal_access.h"

namespace tony::portal {

/// A line of the file. Plain data.
struct User {
  Role role = Role::kView;
  std::string hash;  ///< of os::HashPassword()
  bool operator==(const User&) const = default;
};
using Users = std::map<std::string, User>;

/// The name's form is that of users of a machine or of a mail address: 1 to 64 letters, digits and
/// "._@-", of which '-' is not the first.
bool IsUserName(const std::string& name);
/// InvalidArgument – neither "view" nor "control".
absl::StatusOr<Role> ParseRole(const std::string& text);

/// Lines "NAME:ROLE:HASH"; empty ones and those that begin with '#' are left out. InvalidArgument –
/// a line is wrong, or a name is there twice, or nobody is in it; the message names `path` and the
/// line.
absl::StatusOr<Users> ParseUsers(const std::string& text, const std::string& path);

/// Follows the file: who is taken out of it is out of the portal, and a new password is the only
/// one. Not thread safe.
class UsersFile {
 public:
  static constexpr size_t kMostBytes = size_t{1} << 20;
  static constexpr std::chrono::seconds kPause{1};

  /// `clock` must outlive this.
  UsersFile(const Clock& clock, std::string path) : clock_(clock), path_(std::move(path)) {}

  /// Reads the file. PermissionDenied – it is not this user's or root's, or others may read or
  /// write it. NotFound. OutOfRange – it has more than kMostBytes. The code of ParseUsers().
  absl::Status Read();
  /// The user of that name, as the file has it now. While it cannot be read, nobody new is let in,
  /// so nothing is returned; `Read()` says why in the log.
  std::optional<User> Find(const std::string& name);

 private:
  /// What changes with the file's contents, its mode or its owner (the time of change does).
  struct Mark {
    uint64_t device = 0, inode = 0;
    int64_t size = -1, seconds = 0, nanoseconds = 0;
    int64_t changed_seconds = 0, changed_nanoseconds = 0;
    bool operator==(const Mark&) const = default;
  };
  static Mark MarkOf(const struct stat& info);

  const Clock& clock_;
  const std::string path_;
  Users users_;
  Mark mark_;
  TimePoint looked_{};
};

}  // namespace tony::portal
