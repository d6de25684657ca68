// Checks owners and modes, and recognises the user's private group and users that a namespace does
// not map.
#include "os/files/folder_owner.h"

#include <grp.h>
#include <pwd.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "os/files/files.h"
#include "os/files/proc_file.h"
#include "os/files/user_names.h"

namespace tony::os {
namespace {

constexpr mode_t kGroupWrites = S_IWGRP;
constexpr mode_t kOthersWrite = S_IWOTH;
/// Buffer size for one entry of the user database; a group whose entry is larger is no private
/// group.
constexpr size_t kEntryBytes = 64 << 10;

/// "bob (1001)", for messages.
std::string NameAndNumber(uid_t user) {
  if (user == 0) return "root";
  const std::string name = UserName(user);
  return name == std::to_string(user) ? "user " + name : absl::StrCat(name, " (", user, ")");
}

/// Rule 3, except for access lists.
bool IsPrivateGroup(gid_t group) {
  std::vector<char> user_buffer(kEntryBytes);
  passwd user_entry;
  passwd* user = nullptr;
  if (getpwuid_r(geteuid(), &user_entry, user_buffer.data(), user_buffer.size(), &user) != 0 ||
      user == nullptr || user->pw_gid != group) {
    return false;
  }
  std::vector<char> group_buffer(kEntryBytes);
  struct group group_entry;
  struct group* found = nullptr;
  if (getgrgid_r(group, &group_entry, group_buffer.data(), group_buffer.size(), &found) != 0 ||
      found == nullptr || std::string(found->gr_name) != user->pw_name) {
    return false;
  }
  for (char** member = found->gr_mem; *member != nullptr; ++member) {
    if (std::string(*member) != user->pw_name) return false;
  }
  return true;
}

/// Whether the file has a POSIX access list; if it has one, the group permissions are only an upper
/// bound for its other users and groups.
bool HasAccessList(int fd) {
  // getxattr() goes by name, because fgetxattr() does not take O_PATH descriptors.
  const std::string path = absl::StrCat("/proc/self/fd/", fd);
  return getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) >= 0;
}

bool OthersMayWrite(int fd, const struct stat& info) {
  if ((info.st_mode & kOthersWrite) != 0) return true;
  if ((info.st_mode & kGroupWrites) == 0) return false;
  return HasAccessList(fd) || !IsPrivateGroup(info.st_gid);
}

/// The user number that stands for all users not mapped in this process's user namespace; nothing
/// if all users are mapped.
std::optional<uid_t> UnmappedUser() {
  unsigned long long first = 1;
  unsigned long long outside = 1;
  unsigned long long count = 0;
  const std::string map = ReadProcFile("/proc/self/uid_map");
  const bool all = std::sscanf(map.c_str(), "%llu %llu %llu", &first, &outside, &count) == 3 &&
                   first == 0 && outside == 0 && count == 0xffffffffULL;
  // If the map cannot be read, no other number is taken for root.
  if (all || map.empty()) return std::nullopt;
  const std::string number = ReadProcFile("/proc/sys/kernel/overflowuid");
  if (number.empty()) return std::nullopt;
  return static_cast<uid_t>(std::strtoul(number.c_str(), nullptr, 10));
}

/// Rules 1 and 4.
bool IsOursOrRoots(uid_t owner, const FolderOnTheWay* above) {
  if (owner == geteuid() || owner == 0) return true;
  return owner == UnmappedUser() && (above == nullptr || !above->open_to_others);
}

absl::Status Refuse(const std::string& path, const struct stat& info, const std::string& why,
                    const std::string& remedy) {
  return absl::PermissionDeniedError(
      absl::StrCat(Quoted(path), " belongs to ", NameAndNumber(info.st_uid), " and has mode ",
                   absl::StrFormat("%04o", info.st_mode & 07777), ", so that ", why, "; ", remedy));
}

constexpr char kOthersReplace[] =
    "other users could put files of their own in the place of yours, and have them run as you";

std::string TakeItAway(const std::string& path) {
  return absl::StrCat("take that away (chmod go-w ", Quoted(path),
                      "), or use a folder below your home folder");
}

}  // namespace

absl::Status CheckOwnFolder(int fd, const std::string& path) {
  struct stat info;
  if (fstat(fd, &info) != 0) return ErrnoError(errno, Quoted(path));
  if (info.st_uid != geteuid()) {
    return Refuse(path, info, "it is not yours to keep jobs in", "use a folder of your own");
  }
  if (!OthersMayWrite(fd, info)) return absl::OkStatus();
  return Refuse(path, info, kOthersReplace, TakeItAway(path));
}

absl::Status CheckFolderOnTheWay(int fd, const FolderOnTheWay* above, const std::string& path,
                                 FolderOnTheWay* found) {
  if (fstat(fd, &found->info) != 0) return ErrnoError(errno, Quoted(path));
  if (!IsOursOrRoots(found->info.st_uid, above)) {
    return Refuse(path, found->info, kOthersReplace, "use a folder below your home folder");
  }
  found->open_to_others = OthersMayWrite(fd, found->info);
  if (!found->open_to_others || (found->info.st_mode & S_ISVTX) != 0) return absl::OkStatus();
  return Refuse(path, found->info, kOthersReplace, TakeItAway(path));
}

absl::Status CheckLinkOnTheWay(const struct stat& link, const FolderOnTheWay& above,
                               const std::string& path) {
  if (IsOursOrRoots(link.st_uid, &above)) return absl::OkStatus();
  return Refuse(path, link, "its owner could let this link lead elsewhere",
                "use a folder below your home folder");
}

}  // namespace tony::os
