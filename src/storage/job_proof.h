// Proves that folders and files are tony's own, before anything is removed.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "os/files/folder_handle.h"

namespace tony::storage {

/// Whether `name` has the form of this machine's job ids, "local-20261121-224903-7f3a".
bool IsLocalJobId(absl::string_view name);

/// Whether `name` is a local job id or the id of a YARN application,
/// "application_1700000000000_0042".
bool IsJobName(const std::string& name);

/// Whether `name`, in the folder `jobs`, is a job's folder: a folder of this user, not a link, that
/// has a job's name (with a dot before it while it is being made) and at least one of the files
/// that only tony makes. People's own folders may have either, but not both. RemoveJobFolder()
/// removes the lock that proves the folder last, so that a half removed folder is still recognized.
bool IsJobFolder(const os::FolderHandle& jobs, const std::string& name);

/// Whether IsJobFolder() holds, or `name` is a job's name and the folder has nothing but what tony
/// makes in one. The latter is left where an earlier version was killed while it removed the
/// folder.
bool IsJobOrItsRest(const os::FolderHandle& jobs, const std::string& name);

/// Removes the folder `name`, for which IsJobFolder() holds, with everything in it: the keys first,
/// the lock am.guard last. The codes of os::RemoveTree.
absl::Status RemoveJobFolder(const os::FolderHandle& jobs, const std::string& name);

}  // namespace tony::storage
