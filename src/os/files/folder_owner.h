// Checks who may write to a folder, by the rule that OpenSSH's StrictModes applies to one folder.
#pragma once

#include <sys/stat.h>

#include <string>

#include "absl/status/status.h"

// 1. A folder belongs to this user or to root.
// 2. Nobody else may write to it. A folder on the way to another one (not that one itself) may be
//    writable for others if it has the sticky bit, like /tmp: there only a file's owner renames or
//    removes the file, and by rule 1 that owner is this user or root.
// 3. A group may write if it is the user's private group: the user's primary group, with the user's
//    own name, no further member, and no access list beside it. OpenSSH refuses such folders,
//    Debian's OpenSSH does not: Debian gives each user such a group, and homes that the group may
//    write to.
// 4. If root has no number (in a user namespace that does not map it), root's folders look like
//    those of any stranger. A folder that lies in a folder to which nobody else may write, sticky
//    or not, was put there by root or by this user, and counts as root's. A limit: in such a
//    namespace, a folder that root has put there for another user (such as a home) cannot be told
//    from root's own.
namespace tony::os {

/// Checks that the open folder `fd` belongs to this user (root's does not count) and that nobody
/// else may write to it. PermissionDenied – it does not, or somebody may; the message names `path`,
/// the owner and the mode.
absl::Status CheckOwnFolder(int fd, const std::string& path);

/// A folder on the way to another folder. A plain value.
struct FolderOnTheWay {
  struct stat info {};
  /// Somebody else may make files in it, though not replace this user's.
  bool open_to_others = false;
};

/// Checks the folder `fd`, which may be an O_PATH descriptor, inside the folder `above` (null: `fd`
/// is "/"). Fills `found`. The codes of CheckOwnFolder().
absl::Status CheckFolderOnTheWay(int fd, const FolderOnTheWay* above, const std::string& path,
                                 FolderOnTheWay* found);

/// Checks a symbolic link in the folder `above` by rules 1 and 4: its owner could make it lead
/// elsewhere. PermissionDenied – neither this user nor root is the owner.
absl::Status CheckLinkOnTheWay(const struct stat& link, const FolderOnTheWay& above,
                               const std::string& path);

}  // namespace tony::os
