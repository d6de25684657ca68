// A lock on a file that tells whether its holder lives, without disturbing the holder.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "os/files/folder_handle.h"
#include "os/files/unique_fd.h"

namespace tony::os {

/// Takes the write lock of `path` (created with mode 0600 if missing) for as long as the
/// descriptor, or one inherited from it, is open. It is an open-file-description lock, which the
/// kernel drops with the last holder. AlreadyExists – somebody else holds it. Errno codes.
absl::StatusOr<UniqueFd> LockFile(const std::string& path);

/// Locks the file `name` in `folder` in the same way, with the same codes; a link under that name
/// is not followed.
absl::StatusOr<UniqueFd> LockFile(const FolderHandle& folder, const std::string& name);

/// Whether somebody holds the lock. Only asks, so a LockFile() at the same moment succeeds.
bool IsFileLocked(const std::string& path);

}  // namespace tony::os
