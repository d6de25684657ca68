// Which folders and files are tony's own: what is asked before anything is removed.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "os/files/folder_handle.h"

namespace tony::storage {

/// Whether `name` is of the form that jobs of this machine are called by,
/// "local-20261121-224903-7f3a".
bool IsLocalJobId(absl::string_view name);

/// The same, or an application of YARN's, "application_1700000000000_0042".
bool IsJobName(const std::string& name);

/// Whether `name`, in the folder `jobs`, is a job's folder: a folder of this user's, no link, that
/// is called like a job (with a dot before it while it is being made), and that has at least one of
/// the files that only tony makes. People's own folders may have either, but not both. Removing a
/// job's files ends with the lock that shows it (RemoveJobFolder()), so that what is half removed
/// is still known.
bool IsJobFolder(const os::FolderHandle& jobs, const std::string& name);

/// The same, or a folder that is called like a job's and has nothing but what tony makes in one:
/// what is left where an earlier version was killed while it removed the folder.
bool IsJobOrItsRest(const os::FolderHandle& jobs, const std::string& name);

/// Removes all of the folder `name`, for which IsJobFolder() holds: the keys first, the lock
/// am.guard last. The codes of os::RemoveTree.
absl::Status RemoveJobFolder(const os::FolderHandle& jobs, const std::string& name);

}  // namespace tony::storage
