// A folder into which a foreign archive is unpacked: nothing made through it can land elsewhere.
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
/// above it and never through a link, whoever made that link and when. Missing parents are made,
/// with mode 0755. What exists is never replaced or changed. Permissions are taken from `mode`
/// without special bits and without write permission of group and others; the umask does not
/// matter. Not thread safe.
class ArchiveDestination {
 public:
  /// Opens `folder`; makes it (mode 0700) and its parents if missing. Errno codes.
  static absl::StatusOr<ArchiveDestination> Open(const std::string& folder);

  // All of these: AlreadyExists – something has that name; FailedPrecondition – a link or something
  // else that is no folder is in the way; other errno codes. Messages name the path
  // below the folder.

  /// Makes a folder; one that exists keeps its mode, unless it was made here as a parent.
  absl::Status MakeFolder(const PathParts& place, mode_t mode);
  /// Makes a file and opens it for writing, with mode 0600 until SetFile.
  absl::StatusOr<UniqueFd> MakeFile(const PathParts& place);
  /// Gives a file that has its contents its final mode and, if any, modification time.
  absl::Status SetFile(int fd, const PathParts& place, mode_t mode,
                       const std::optional<timespec>& modification_time);
  absl::Status MakeSymbolicLink(const PathParts& place, const std::string& target);
  /// A second name for the file at `existing`. InvalidArgument – `existing` is no plain file.
  absl::Status MakeHardLink(const PathParts& place, const PathParts& existing);

  /// The target of the symbolic link at `path`; nothing where there is none.
  std::optional<std::string> ReadLink(const std::string& path) const;

 private:
  explicit ArchiveDestination(UniqueFd root) : root_(std::move(root)) {}

  /// The descriptor of the folder that `place` is in, owned by this object until the next call.
  absl::StatusOr<int> OpenParent(const PathParts& place);
  absl::StatusOr<UniqueFd> OpenOrMakeFolder(int parent, const std::string& name,
                                            const std::string& path);

  UniqueFd root_;
  UniqueFd last_parent_;
  std::string last_parent_path_;  ///< archives name the files of a folder one after the other
  std::set<std::string> made_as_parent_;  ///< folders whose own entry has not been seen
};

}  // namespace tony::os
