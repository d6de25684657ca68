// Packs a folder or a file into one .tar.zst file. The same contents give the same bytes, on any
// machine and for any user.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::os {

/// Summary of the packed archive.
struct PackSummary {
  int64_t entries = 0;
  int64_t bytes = 0;   ///< size of the archive file
  std::string digest;  ///< SHA-256 of the archive's bytes, 64 lowercase hexadecimal digits
};

struct PackOptions {
  /// Names of files and folders that are left out at any depth.
  std::vector<std::string> skip_names = {".git", "__pycache__"};
  /// Decides whether a symbolic link that leaves the folder (path below the folder, target) may be
  /// packed as it is. Empty: no such link may.
  std::function<bool(const std::string& path, const std::string& target)> keep_escaping_link;
  int compression_level = 1;  ///< zstd's level, 1 (fast) to 19
  /// An open descriptor of the folder in which the archive is made, under the last part of its
  /// path; -1: the path alone decides.
  int archive_folder = -1;
};

/// Packs the contents of `folder` (without an entry for the folder itself) into the new file
/// `archive_path` with mode 0600. Entries are sorted by name, owners are zero. Permissions and the
/// modification times of files (whole seconds: Python's .pyc files depend on them) are kept, times
/// of folders and links are not. Names may hold any bytes. If the archive lies in the folder, it is
/// not packed itself.
/// InvalidArgument – a link that leaves the folder, a socket, device or pipe, or `folder` is no
/// folder. AlreadyExists – `archive_path` exists. Aborted – a file shrank while it was packed.
/// Errno codes, such as PermissionDenied – an unreadable file. Messages name the entry. After an
/// error no archive is left.
absl::StatusOr<PackSummary> PackFolder(const std::string& folder, const std::string& archive_path,
                                       const PackOptions& options = {});

/// Packs one file (a link is followed) as an entry with the file's own name. Codes as for
/// PackFolder().
absl::StatusOr<PackSummary> PackFile(const std::string& file, const std::string& archive_path,
                                     const PackOptions& options = {});

}  // namespace tony::os
