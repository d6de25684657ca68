// The rules that every entry of an untrusted archive must obey. All of them are computed from
// names, kinds and sizes, so a check needs no file system.
#include "os/archives/archive_checker.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files/files.h"

namespace tony::os {

ArchiveChecker::ArchiveChecker(UnpackOptions options, int64_t archive_bytes)
    : options_(std::move(options)), archive_bytes_(archive_bytes) {}

absl::StatusOr<PathParts> ArchiveChecker::Check(const ArchiveEntry& entry) {
  ++entries_;
  TONY_RETURN_IF_ERROR(CheckEntries());
  TONY_ASSIGN_OR_RETURN(PathParts place, SplitEntryName(entry.name));
  if (place.empty() && entry.kind != ArchiveEntry::Kind::kFolder) {
    return absl::InvalidArgumentError("an entry without a name");
  }
  TONY_RETURN_IF_ERROR(CheckNotThroughLink(place));
  TONY_RETURN_IF_ERROR(AddFolders(place, entry.kind));
  switch (entry.kind) {
    case ArchiveEntry::Kind::kFolder:
      break;
    case ArchiveEntry::Kind::kFile:
      // The sum saturates, because a header may declare any number.
      declared_bytes_ += std::clamp(entry.size, int64_t{0}, options_.limits.max_bytes + 1);
      TONY_RETURN_IF_ERROR(CheckTotal(declared_bytes_));
      break;
    case ArchiveEntry::Kind::kSymbolicLink:
      TONY_RETURN_IF_ERROR(AddSymbolicLink(JoinParts(place), entry.target));
      break;
    case ArchiveEntry::Kind::kHardLink: {
      TONY_ASSIGN_OR_RETURN(const PathParts target, SplitEntryName(entry.target));
      TONY_RETURN_IF_ERROR(CheckNotThroughLink(target));
      // If the target was not unpacked, the folders above it are made all the same before the link
      // is refused; so they count.
      TONY_RETURN_IF_ERROR(AddFolders(target, entry.kind));
      break;
    }
    case ArchiveEntry::Kind::kOther:
      return absl::InvalidArgumentError(
          "a device, pipe or socket; only files, folders and links are unpacked");
  }
  return place;
}

absl::Status ArchiveChecker::CheckEntries() const {
  if (entries_ + implied_folders_ <= options_.limits.max_entries) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("more than ", options_.limits.max_entries,
                                                   " entries and folders; this looks like an "
                                                   "archive bomb"));
}

// Entries of one folder usually follow each other, so the last parent is remembered and its folders
// are not looked up again.
absl::Status ArchiveChecker::AddFolders(const PathParts& place, ArchiveEntry::Kind kind) {
  if (place.size() > options_.limits.max_depth) {
    return absl::ResourceExhaustedError(absl::StrCat("more than ", options_.limits.max_depth,
                                                     " folders deep; this looks like an archive "
                                                     "bomb"));
  }
  const bool is_folder = kind == ArchiveEntry::Kind::kFolder;
  if (place.empty()) return absl::OkStatus();
  PathParts parent(place.begin(), place.end() - 1);
  if (!is_folder && parent == last_parent_) return absl::OkStatus();
  size_t above = 0;
  for (size_t i = 0; i < place.size() - (is_folder ? 0 : 1); ++i) {
    const auto [folder, added] = folders_.try_emplace({above, place[i]}, folders_.size() + 1);
    above = folder->second;
    if (!added) continue;
    if (i + 1 < place.size()) ++implied_folders_;
    TONY_RETURN_IF_ERROR(CheckEntries());
    TONY_RETURN_IF_ERROR(CheckTotal(declared_bytes_));
  }
  last_parent_ = std::move(parent);
  return absl::OkStatus();
}

absl::Status ArchiveChecker::CheckTotal(int64_t files) const {
  const UnpackLimits& limits = options_.limits;
  const int64_t folders = static_cast<int64_t>(folders_.size()) * kFolderBytes;
  // The sum saturates, because a header may declare any number.
  const int64_t bytes = std::min(files, std::numeric_limits<int64_t>::max() - folders) + folders;
  if (bytes > limits.max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("unpacks to more than ", limits.max_bytes,
                                                     " bytes; this looks like an archive bomb"));
  }
  if (bytes > limits.ratio_floor_bytes && bytes / limits.max_ratio > archive_bytes_) {
    return absl::ResourceExhaustedError(absl::StrCat("unpacks to more than ", limits.max_ratio,
                                                     " times its ", archive_bytes_,
                                                     " bytes; this looks like an archive bomb"));
  }
  return absl::OkStatus();
}

// Symbolic links are judged together at the end: a link that stays inside on its own may lead
// outside through another link that comes later in the archive.
absl::Status ArchiveChecker::CheckLinks(const LinkLookup& lookup) const {
  const LinkLookup all_links = [&](const std::string& path) -> std::optional<std::string> {
    if (const std::string* target = FindLink(path)) return *target;
    return lookup(path);
  };
  for (const auto& [path, target] : links_) {
    // The names passed Check(), so splitting them again cannot fail.
    if (TargetStaysInside(SplitEntryName(path).value(), target, all_links)) continue;
    return absl::InvalidArgumentError(absl::StrCat("entry ", Quoted(path), ": symbolic link to ",
                                                   Quoted(target),
                                                   ", which leads out of the destination"));
  }
  return absl::OkStatus();
}

// An entry below a link would be placed wherever the link leads; an entry with a link's own name
// could replace it. Both are refused, also for links that are held back.
absl::Status ArchiveChecker::CheckNotThroughLink(const PathParts& place) const {
  if (links_.empty() && held_links_.empty()) return absl::OkStatus();
  std::string path;
  for (const std::string& part : place) {
    absl::StrAppend(&path, path.empty() ? "" : "/", part);
    if (FindLink(path) != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("uses ", Quoted(path), ", which is a symbolic link of the same archive"));
    }
  }
  return absl::OkStatus();
}

// A link held back may be absolute: the caller does not make it as it is.
absl::Status ArchiveChecker::AddSymbolicLink(const std::string& path, const std::string& target) {
  if (options_.hold_back_link && options_.hold_back_link(path, target)) {
    held_links_[path] = target;
    return absl::OkStatus();
  }
  if (target.empty() || target[0] == '/') {
    return absl::InvalidArgumentError(
        absl::StrCat("symbolic link to ", Quoted(target), ", which leads out of the destination"));
  }
  links_[path] = target;
  return absl::OkStatus();
}

const std::string* ArchiveChecker::FindLink(const std::string& path) const {
  for (const auto* links : {&links_, &held_links_}) {
    if (auto found = links->find(path); found != links->end()) return &found->second;
  }
  return nullptr;
}

}  // namespace tony::os
