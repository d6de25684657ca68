// A folder held by a descriptor, so that new files land in that folder, whatever its path leads to
// by then.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/files/unique_fd.h"

namespace tony::os {

/// An open folder. Every file in it is reached by one name from the descriptor, never through a
/// symbolic link. Modes are exact: 0700 for folders, 0600 for files unless another mode is given,
/// whatever the umask. Messages
/// name the path that the folder had when it was opened. Errno codes as in os/files/files.h, and
/// InvalidArgument – a name is empty, ".", ".." or has a slash. Thread safe (immutable), apart from
/// assignment.
class FolderHandle {
 public:
  /// `path`: for messages only.
  FolderHandle(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  /// `folder` under the new name `path`, after it was renamed.
  FolderHandle(FolderHandle&& folder, std::string path)
      : FolderHandle(std::move(folder.fd_), std::move(path)) {}

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  std::string PathOf(const std::string& name) const { return path_ + "/" + name; }

  /// Makes a new folder. AlreadyExists – something has that name.
  absl::StatusOr<FolderHandle> Make(const std::string& name) const;
  /// Opens a folder. NotFound – there is none. FailedPrecondition – it is a link or no folder.
  /// PermissionDenied – it belongs to another user, or others may write to it.
  absl::StatusOr<FolderHandle> Open(const std::string& name) const;
  /// Open(), or Make() if nothing has that name.
  absl::StatusOr<FolderHandle> OpenOrMake(const std::string& name) const;

  /// Makes a new, empty file and opens it for writing. AlreadyExists – something has that name.
  absl::StatusOr<UniqueFd> MakeFile(const std::string& name) const;
  /// Makes a new file with `contents`; it is removed again if they cannot be written.
  absl::Status CreateFile(const std::string& name, const std::string& contents) const;
  /// Replaces or creates a file in one step, as WriteFileAtomically() does.
  absl::Status ReplaceFile(const std::string& name, const std::string& contents,
                           mode_t mode = 0600) const;
  /// Makes a new file with the contents and the permissions of the plain file `source`. Links to
  /// `source` are followed.
  absl::Status CopyFile(const std::string& source, const std::string& name) const;
  /// Opens a file for appending; makes it if there is none.
  absl::StatusOr<UniqueFd> OpenForAppending(const std::string& name) const;

  /// Renames within the folder. A folder at `to` is replaced only if it is empty; otherwise
  /// AlreadyExists.
  absl::Status Rename(const std::string& from, const std::string& to) const;
  /// Whether `name` is a plain file that belongs to this user.
  bool HasOwnFile(const std::string& name) const;
  /// All names in the folder, in no particular order.
  absl::StatusOr<std::vector<std::string>> List() const;

 private:
  UniqueFd fd_;
  std::string path_;
};

}  // namespace tony::os
