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

/// The limits on an unpacked archive.
struct UnpackLimits {
  int64_t max_entries = 1'000'000;  ///< counts folders that only other entries' names imply, too
  size_t max_depth = 256;           ///< maximum number of names in a path
  /// Bytes of all files together, holes included, plus kFolderBytes for each folder.
  int64_t max_bytes = int64_t{64} << 30;
  int64_t max_ratio = 1000;                      ///< maximum unpacked bytes per archive byte …
  int64_t ratio_floor_bytes = int64_t{1} << 30;  ///< … checked only beyond this many unpacked bytes
};

struct UnpackOptions {
  UnpackLimits limits;
  /// Decides whether a symbolic link (path below the destination, target) is reported in the
  /// summary instead of being checked and made. Empty: no link is.
  std::function<bool(const std::string& path, const std::string& target)> hold_back_link;
};

/// One entry as the archive describes it.
struct ArchiveEntry {
  enum class Kind { kFile, kFolder, kSymbolicLink, kHardLink, kOther };
  std::string name;
  Kind kind = Kind::kOther;
  std::string target;  ///< target of a link
  int64_t size = 0;    ///< declared bytes of a file; 0 if the archive does not say
};

/// Bytes that a folder counts for: the block that it takes on most file systems.
inline constexpr int64_t kFolderBytes = 4096;

/// Remembers the links and folders of one archive and its total size so far. No entry may lie below
/// the place of a link, so links can be made last, when all of them are known. Not thread safe.
class ArchiveChecker {
 public:
  /// `archive_bytes`: size of the archive file.
  ArchiveChecker(UnpackOptions options, int64_t archive_bytes);

  /// Checks the entry and returns its place below the destination. InvalidArgument – the name or a
  /// hard link's target is absolute or has "..", the entry is a device, pipe or socket, its name is
  /// that of a link seen before or lies below one, the symbolic link is absolute, or the hard link
  /// is one to a symbolic link. ResourceExhausted – too many entries, folders or bytes, or too
  /// deep.
  absl::StatusOr<PathParts> Check(const ArchiveEntry& entry);

  /// ResourceExhausted – `files`, the bytes of the files so far, and the folders together exceed
  /// the limits.
  absl::Status CheckTotal(int64_t files) const;

  /// Call it after all entries have been checked. InvalidArgument – a symbolic link leads out of
  /// the destination. `lookup` knows the links that existed at the destination before.
  absl::Status CheckLinks(const LinkLookup& lookup) const;

  int64_t entries() const { return entries_; }
  /// Links to be made: path to target.
  const std::map<std::string, std::string>& links() const { return links_; }
  /// Links held back: path to target.
  const std::map<std::string, std::string>& held_links() const { return held_links_; }

 private:
  absl::Status CheckNotThroughLink(const PathParts& place) const;
  absl::Status AddSymbolicLink(const std::string& path, const std::string& target);
  const std::string* FindLink(const std::string& path) const;
  /// Counts the new folders above `place`, and `place` itself if it is a folder.
  absl::Status AddFolders(const PathParts& place, ArchiveEntry::Kind kind);
  absl::Status CheckEntries() const;

  const UnpackOptions options_;
  const int64_t archive_bytes_;
  int64_t entries_ = 0;
  int64_t declared_bytes_ = 0;
  int64_t implied_folders_ = 0;  ///< folders without an entry of their own when first needed
  /// Maps the parent folder's number and a name to the folder's number; 0 is the destination. So
  /// each name of the archive is stored once, however deep it is.
  std::map<std::pair<size_t, std::string>, size_t> folders_;
  PathParts last_parent_;  ///< archives list the files of a folder one after the other
  std::map<std::string, std::string> links_;
  std::map<std::string, std::string> held_links_;
};

}  // namespace tony::os
