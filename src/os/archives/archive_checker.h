// Decides, entry by entry, whether an archive may be unpacked; touches no file itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/archives/archive_names.h"

namespace tony::os {

/// What an archive may grow to.
struct UnpackLimits {
  int64_t max_entries = 1'000'000;  ///< and folders that only other entries' names imply
  size_t max_depth = 256;           ///< names in a path
  /// Of all files together, holes counted, and kFolderBytes for each folder.
  int64_t max_bytes = int64_t{64} << 30;
  int64_t max_ratio = 1000;                      ///< unpacked bytes to the archive's bytes …
  int64_t ratio_floor_bytes = int64_t{1} << 30;  ///< … asked only beyond this many unpacked bytes
};

struct UnpackOptions {
  UnpackLimits limits;
  /// Says of a symbolic link (path below the destination, target) whether it is to be reported in
  /// the summary instead of being checked and made. Empty: none is.
  std::function<bool(const std::string& path, const std::string& target)> hold_back_link;
};

/// One entry as the archive describes it.
struct ArchiveEntry {
  enum class Kind { kFile, kFolder, kSymbolicLink, kHardLink, kOther };
  std::string name;
  Kind kind = Kind::kOther;
  std::string target;  ///< of a link
  int64_t size = 0;    ///< declared bytes of a file; 0 when the archive does not say
};

/// What a folder counts as, in bytes: the block that it takes on most file systems.
inline constexpr int64_t kFolderBytes = 4096;

/// Remembers the links and folders of one archive and what it amounts to so far. An entry may lie
/// below the place of a link in no case, so links can be made last, when all of them are known. Not
/// thread safe.
class ArchiveChecker {
 public:
  /// `archive_bytes`: the size of the archive file.
  ArchiveChecker(UnpackOptions options, int64_t archive_bytes);

  /// The entry's place below the destination. InvalidArgument – absolute or ".." in the name or in
  /// a hard link's target, a device, pipe or socket, a name below a link or of a link seen before,
  /// an absolute symbolic link, a hard link to a symbolic one; ResourceExhausted – too many
  /// entries, folders or bytes, or too deep.
  absl::StatusOr<PathParts> Check(const ArchiveEntry& entry);

  /// ResourceExhausted – `files`, the bytes of the files so far, and the folders are more than the
  /// limits allow.
  absl::Status CheckTotal(int64_t files) const;

  /// To be asked when all entries have been checked. InvalidArgument – a symbolic link leads out of
  /// the destination. `lookup` knows links that were at the destination before.
  absl::Status CheckLinks(const LinkLookup& lookup) const;

  int64_t entries() const { return entries_; }
  /// Links to make: path to target.
  const std::map<std::string, std::string>& links() const { return links_; }
  /// Links held back: path to target.
  const std::map<std::string, std::string>& held_links() const { return held_links_; }

 private:
  absl::Status CheckNotThroughLink(const PathParts& place) const;
  absl::Status AddSymbolicLink(const std::string& path, const std::string& target);
  const std::string* FindLink(const std::string& path) const;
  /// Counts the folders above `place` that were not known, and `place` if it is a folder.
  absl::Status AddFolders(const PathParts& place, ArchiveEntry::Kind kind);
  absl::Status CheckEntries() const;

  const UnpackOptions options_;
  const int64_t archive_bytes_;
  int64_t entries_ = 0;
  int64_t declared_bytes_ = 0;
  int64_t implied_folders_ = 0;  ///< that were no entry when another entry's name needed them
  /// The folder's number by that of the folder above it and its name; 0 is the destination. Each
  /// name of the archive is kept once, however deep it is.
  std::map<std::pair<size_t, std::string>, size_t> folders_;
  PathParts last_parent_;  ///< archives name the files of a folder one after the other
  std::map<std::string, std::string> links_;
  std::map<std::string, std::string> held_links_;
};

}  // namespace tony::os
