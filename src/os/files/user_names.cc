// getpwuid_r() asks whatever service the machine names in nsswitch.conf; a user whom no service
// knows has only a number.
#include "os/files/user_names.h"

#include <grp.h>
#include <pwd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "os/files/files.h"

namespace tony::os {
namespace {

/// Far more than an entry of the user database needs.
constexpr size_t kEntryBytes = 64 << 10;
/// The kernel's limit for one user (NGROUPS_MAX) is 65536; few sites come near a hundred.
constexpr int kMostGroups = 1024;

}  // namespace

std::string UserName(uid_t user) {
  std::vector<char> buffer(kEntryBytes);
  passwd entry;
  passwd* found = nullptr;
  const bool known = getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) == 0 && found;
  return known ? found->pw_name : std::to_string(user);
}

// POSIX has no error for a user who is not there, but services report some all the same.
absl::StatusOr<uid_t> UserNumber(const std::string& name) {
  std::vector<char> buffer(kEntryBytes);
  passwd entry;
  passwd* found = nullptr;
  const int error = getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) return found->pw_uid;
  if (error == 0 || error == ENOENT || error == ESRCH) {
    return absl::NotFoundError(absl::StrCat("this machine has no user ", name));
  }
  return ErrnoError(error, absl::StrCat("the user database does not say who ", name, " is"));
}

std::vector<std::string> GroupsOf(const std::string& user) {
  std::vector<char> buffer(kEntryBytes);
  passwd entry;
  passwd* found = nullptr;
  if (getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || !found) {
    return {};
  }
  int count = kMostGroups;
  std::vector<gid_t> ids(kMostGroups);
  if (getgrouplist(user.c_str(), found->pw_gid, ids.data(), &count) < 0) count = kMostGroups;
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    std::vector<char> group_buffer(kEntryBytes);
    group group_entry;
    group* group_found = nullptr;
    const int error = getgrgid_r(ids[static_cast<size_t>(i)], &group_entry, group_buffer.data(),
                                 group_buffer.size(), &group_found);
    if (error == 0 && group_found != nullptr) names.emplace_back(group_found->gr_name);
  }
  return names;
}

}  // namespace tony::os
