// Packs a folder or a file into one .tar.zst: the same contents give the same bytes, on any
// machine, run by anyone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::os {

/// What was packed.
struct PackSummary {
  int64_t entries = 0;
  int64_t bytes = 0;   ///< size of the archive file
  std::string digest;  ///< SHA-256 of the archive's bytes, 64 lowercase hexadecimal digits
};

struct PackOptions {
  /// Files and folders of these names are left out, at any depth.
  std::vector<std::string> skip_names = {".git", "__pycache__"};
  /// Says of a symbolic link that leaves the folder whether it may be packed as it is: (path below
  /// the folder, target). Empty: none may.
  std::function<bool(const std::string& path, const std::string& target)> keep_escaping_link;
  int compression_level = 1;  ///< zstd's, 1 (fast) to 19
  /// Open on the folder that the archive is made in, by the last part of its path; -1: the path
  /// says where.
  int archive_folder = -1;
};

/// Packs what is in `folder` (without an entry for itself) into the new file `archive_path` of mode
/// 0600. Sorted by name, owners zero; permissions and the modification times of files (whole
/// seconds: Python's .pyc files depend on them) are kept, times of folders and links are not. Names
/// may hold any bytes. The archive itself, should it lie in the folder, is not packed.
/// InvalidArgument – a link that leaves the folder, a socket, device or pipe, or `folder` is no
/// folder; AlreadyExists – `archive_path` exists; Aborted – a file shrank while it was packed;
/// errno codes, e.g. PermissionDenied – an unreadable file. Messages name the entry. After an error
/// no archive is left.
absl::StatusOr<PackSummary> PackFolder(const std::string& folder, const std::string& archive_path,
                                       const PackOptions& options = {});

/// Packs one file (a link is followed), as an entry with the file's own name. Codes as PackFolder.
absl::StatusOr<PackSummary> PackFile(const std::string& file, const std::string& archive_path,
                                     const PackOptions& options = {});

}  // namespace tony::os
