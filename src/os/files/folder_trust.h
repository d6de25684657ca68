// Whether a folder can be relied on to stay the same one: who could put another in its place.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/files/folder_handle.h"

// The rule is that of OpenSSH's StrictModes (auth_secure_path() in its misc.c). A path is followed
// from "/" on, part by part, links as well, each from the descriptor of the one before; what each
// folder and link has to be is in os/files/folder_owner.h. Once the rule holds, no other user can
// put another folder in the place of one of the path, so that the path, too, may be used.
namespace tony::os {

/// Opens the folder `path`, which has to be this user's, with nobody else writing to it.
/// PermissionDenied – a part is not to be trusted; the message names it, its owner and its mode;
/// FailedPrecondition – a part is no folder; NotFound; errno codes.
absl::StatusOr<FolderHandle> OpenOwnFolder(const std::string& path);

/// The same; parts that are missing are made, with mode 0700.
absl::StatusOr<FolderHandle> OpenOrMakeOwnFolder(const std::string& path);

/// Whether what this user makes in the folder `path` stays where it is: the rule holds for `path`
/// itself as for what is above it. The codes of OpenOwnFolder().
absl::Status CheckFolder(const std::string& path);

}  // namespace tony::os
