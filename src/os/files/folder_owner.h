// Who may write to a folder: what OpenSSH's StrictModes asks of one folder.
#pragma once

#include <sys/stat.h>

#include <string>

#include "absl/status/status.h"

// 1. A folder belongs to this user or to root.
// 2. Nobody else may write to it. Of a folder on the way to another one (not of that one itself)
//    this need not hold when it has the sticky bit, like /tmp: there only a file's owner renames or
//    removes it, and by 1 that is one of the two.
// 3. A group may write where it is the user's private group: the user's primary group, which has
//    the user's own name, no further member, and no access list beside it. OpenSSH refuses these,
//    Debian's does not: Debian gives each user such a group, and homes that it may write to.
// 4. Where root has no number (a user namespace that does not map it) its folders look like those
//    of any stranger. One that lies in a folder to which nobody else may write, sticky or not, was
//    put there by root or by this user, and counts as root's. A limit: a folder that root has put
//    there for another user (a home, say) cannot be told from root's own in such a namespace.
namespace tony::os {

/// Whether the open folder `fd` is this user's (root's will not do), with nobody else writing to
/// it. PermissionDenied – it is not; the message names `path`, the owner and the mode.
absl::Status CheckOwnFolder(int fd, const std::string& path);

/// A place on the way to a folder. A plain value.
struct FolderOnTheWay {
  struct stat info {};
  /// Somebody else may make files in it, if not replace this user's.
  bool open_to_others = false;
};

/// The folder `fd`, also one that was opened with O_PATH, in the folder `above` (null: it is "/").
/// The codes of CheckOwnFolder().
absl::Status CheckFolderOnTheWay(int fd, const FolderOnTheWay* above, const std::string& path,
                                 FolderOnTheWay* found);

/// A symbolic link in the folder `above`: rules 1 and 4. Its owner could lead it elsewhere.
absl::Status CheckLinkOnTheWay(const struct stat& link, const FolderOnTheWay& above,
                               const std::string& path);

}  // namespace tony::os
