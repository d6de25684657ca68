// A lock on a file that tells whether its holder lives, without disturbing it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "os/files/folder_handle.h"
#include "os/files/unique_fd.h"

namespace tony::os {

/// Takes the write lock of `path` (made with mode 0600 if missing) for as long as the descriptor,
/// or one inherited from it, is open: an open-file-description lock, which the kernel drops with
/// the last holder. AlreadyExists – somebody holds it; errno codes.
absl::StatusOr<UniqueFd> LockFile(const std::string& path);

/// The same of the file `name` in `folder`, which is not reached through a link.
absl::StatusOr<UniqueFd> LockFile(const FolderHandle& folder, const std::string& name);

/// Whether somebody holds the lock. Only asks, so that a LockFile() at this moment succeeds.
bool IsFileLocked(const std::string& path);

}  // namespace tony::os
