// A lock on a folder that leaves no file in it, and that says who holds it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "os/files/unique_fd.h"

namespace tony::os {

/// Takes the lock (flock) of the folder `path` for as long as the descriptor, or one inherited from
/// it, is open. The kernel drops it with the last holder, however that ended. The right to read the
/// folder is enough. On a network file system the lock is seen on this machine only.
/// AlreadyExists – somebody holds it; the message is that of HolderOfFolderLock(). Unimplemented –
/// the file system has no such locks. Errno codes.
absl::StatusOr<UniqueFd> LockFolder(const std::string& path);

/// The process that holds the lock of the folder behind `fd`: "process 4711 of bob", or what is
/// known of it.
std::string HolderOfFolderLock(int fd);

}  // namespace tony::os
