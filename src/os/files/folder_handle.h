// A folder held by a descriptor, so that what is made in it lands there, whatever its path leads to
// by then.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/files/unique_fd.h"

namespace tony::os {

/// An open folder. Everything in it is reached by one name from the descriptor, never through a
/// symbolic link. Modes are exact: 0700 for folders, 0600 for files, whatever the umask. Messages
/// name the path that the folder had when it was opened; errno codes as in os/files/files.h, and
/// InvalidArgument – a name is empty, ".", ".." or has a slash. Thread safe (immutable), apart from
/// assignment.
class FolderHandle {
 public:
  /// `path` is only for messages.
  FolderHandle(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  /// The same folder under the name that it has by now.
  FolderHandle(FolderHandle&& folder, std::string path)
      : FolderHandle(std::move(folder.fd_), std::move(path)) {}

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  std::string PathOf(const std::string& name) const { return path_ + "/" + name; }

  /// A new folder. AlreadyExists – something has that name.
  absl::StatusOr<FolderHandle> Make(const std::string& name) const;
  /// NotFound – there is none; FailedPrecondition – it is a link or no folder; PermissionDenied –
  /// it is another user's, or others may write to it.
  absl::StatusOr<FolderHandle> Open(const std::string& name) const;
  /// Open(), or where nothing has that name Make().
  absl::StatusOr<FolderHandle> OpenOrMake(const std::string& name) const;

  /// A new, empty file to write. AlreadyExists – something has that name.
  absl::StatusOr<UniqueFd> MakeFile(const std::string& name) const;
  /// A new file with `contents`, which is removed again when they cannot be written.
  absl::Status CreateFile(const std::string& name, const std::string& contents) const;
  /// Replaces or creates a file in one step, as WriteFileAtomically() does.
  absl::Status ReplaceFile(const std::string& name, const std::string& contents) const;
  /// A new file with the contents and the permissions of the plain file `source`, links to which
  /// are followed.
  absl::Status CopyFile(const std::string& source, const std::string& name) const;
  /// A file to append to, which is made where there is none.
  absl::StatusOr<UniqueFd> OpenForAppending(const std::string& name) const;

  /// Renames within the folder. A folder at `to` is replaced only when it is empty, AlreadyExists
  /// otherwise.
  absl::Status Rename(const std::string& from, const std::string& to) const;
  /// Whether `name` is a plain file of this user's.
  bool HasOwnFile(const std::string& name) const;
  /// All names in the folder, in no order.
  absl::StatusOr<std::vector<std::string>> List() const;

 private:
  UniqueFd fd_;
  std::string path_;
};

}  // namespace tony::os
