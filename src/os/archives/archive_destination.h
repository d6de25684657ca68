// The folder into which an untrusted archive is unpacked: nothing made through it can land
// elsewhere.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/archives/archive_names.h"
#include "os/files/unique_fd.h"

namespace tony::os {

/// Makes files, folders and links below one folder. Each part of a path is opened from the folder
/// above it and never through a link, whoever made that link and when. Missing parents are made
/// with mode 0755. Existing files and folders are never replaced or changed. Permissions come from
/// `mode`, without special bits and without write permission for group and others; the umask does
/// not matter. Not thread safe.
///
/// Codes of all functions but Open(): AlreadyExists – something has that name; FailedPrecondition –
/// a link or something else that is no folder is in the way; other errno codes. Messages name the
/// path below the folder.
class ArchiveDestination {
 public:
  /// Opens `folder`; makes it (mode 0700) and its parents if missing. Errno codes.
  static absl::StatusOr<ArchiveDestination> Open(const std::string& folder);

  /// Makes a folder. An existing one keeps its mode, unless it was made here as a parent.
  absl::Status MakeFolder(const PathParts& place, mode_t mode);
  /// Makes a file and opens it for writing. Its mode is 0600 until SetFile().
  absl::StatusOr<UniqueFd> MakeFile(const PathParts& place);
  /// Sets the final mode and, if given, the modification time of a file whose contents are
  /// complete.
  absl::Status SetFile(int fd, const PathParts& place, mode_t mode,
                       const std::optional<timespec>& modification_time);
  absl::Status MakeSymbolicLink(const PathParts& place, const std::string& target);
  /// Makes a second name for the file at `existing`. InvalidArgument – `existing` is no plain file.
  absl::Status MakeHardLink(const PathParts& place, const PathParts& existing);

  /// The target of the symbolic link at `path`; nothing if there is none.
  std::optional<std::string> ReadLink(const std::string& path) const;

 private:
  explicit ArchiveDestination(UniqueFd root) : root_(std::move(root)) {}

  /// The descriptor of the parent folder of `place`, owned by this object until the next call.
  absl::StatusOr<int> OpenParent(const PathParts& place);
  absl::StatusOr<UniqueFd> OpenOrMakeFolder(int parent, const std::string& name,
                                            const std::string& path);

  UniqueFd root_;
  UniqueFd last_parent_;  ///< kept open, since archives list the files of a folder in a row
  std::string last_parent_path_;
  std::set<std::string> made_as_parent_;  ///< folders whose own entry has not come yet
};

}  // namespace tony::os
