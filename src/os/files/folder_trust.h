// Checks whether a folder can be trusted to stay the same one, that is, who could replace it by
// another.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/files/folder_handle.h"

// The rule is that of OpenSSH's StrictModes (auth_secure_path() in its misc.c). A path is followed
// from "/" on, part by part and through links, each part from the descriptor of the one before. The
// conditions for each folder and link are in os/files/folder_owner.h. Once the rule holds, no other
// user can replace any folder of the path, so the path may be used too.
namespace tony::os {

/// Opens the folder `path`, which must belong to this user and be writable for nobody else.
/// PermissionDenied – a part is not to be trusted; the message names it, its owner and its mode.
/// FailedPrecondition – a part is no folder. NotFound – `path` does not exist. Errno codes.
absl::StatusOr<FolderHandle> OpenOwnFolder(const std::string& path);

/// Does the same, and makes missing parts with mode 0700. The codes of OpenOwnFolder() but
/// NotFound.
absl::StatusOr<FolderHandle> OpenOrMakeOwnFolder(const std::string& path);

/// Checks that files made by this user in the folder `path` stay there: the rule must hold for
/// `path` itself as for the folders above it. The codes of OpenOwnFolder().
absl::Status CheckFolder(const std::string& path);

}  // namespace tony::os
