// Opens each part of a path with openat() and O_NOFOLLOW, so that no link leads out of the
// destination.
#include "os/archives/archive_destination.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files/files.h"

namespace tony::os {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/// The error for a `path` that could not be opened as a folder.
absl::Status NotAFolder(int parent, const std::string& name, const std::string& path, int error) {
  struct stat info;
  if (error == ENOTDIR && fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        Quoted(path), S_ISLNK(info.st_mode) ? " is a symbolic link" : " is not a folder",
        " at the destination; nothing is unpacked through it"));
  }
  return ErrnoError(error, absl::StrCat("cannot open the folder ", Quoted(path)));
}

std::string WithoutLast(const PathParts& place) {
  return JoinParts(PathParts(place.begin(), place.end() - 1));
}

}  // namespace

absl::StatusOr<ArchiveDestination> ArchiveDestination::Open(const std::string& folder) {
  TONY_RETURN_IF_ERROR(MakeFolders(folder));
  UniqueFd root(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return ErrnoError(errno, absl::StrCat("cannot open ", Quoted(folder)));
  return ArchiveDestination(std::move(root));
}

absl::StatusOr<UniqueFd> ArchiveDestination::OpenOrMakeFolder(int parent, const std::string& name,
                                                              const std::string& path) {
  UniqueFd folder(openat(parent, name.c_str(), kFolderFlags));
  if (folder.valid()) return folder;
  if (errno != ENOENT) return NotAFolder(parent, name, path, errno);
  if (mkdirat(parent, name.c_str(), 0700) != 0) {
    return ErrnoError(errno, absl::StrCat("cannot make the folder ", Quoted(path)));
  }
  // The mode is set by descriptor: a call by name would follow a link that somebody has put here
  // meanwhile, while O_NOFOLLOW refuses it. The umask may have removed even the owner's
  // permissions. Then open() fails, and O_PATH, which needs none, gives a descriptor.
  folder.Reset(openat(parent, name.c_str(), kFolderFlags));
  if (!folder.valid() && errno == EACCES) {
    UniqueFd by_path(openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    ChmodByDescriptor(by_path.get(), 0700);
    folder.Reset(openat(parent, name.c_str(), kFolderFlags));
  }
  if (!folder.valid()) return NotAFolder(parent, name, path, errno);
  if (fchmod(folder.get(), 0755) != 0) {
    return ErrnoError(errno, absl::StrCat("cannot set the mode of the folder ", Quoted(path)));
  }
  made_as_parent_.insert(path);
  return folder;
}

// Opens the parents one by one, unless the last call had the same parent.
absl::StatusOr<int> ArchiveDestination::OpenParent(const PathParts& place) {
  const std::string parent_path = WithoutLast(place);
  if (parent_path.empty()) return root_.get();
  if (last_parent_.valid() && parent_path == last_parent_path_) return last_parent_.get();
  UniqueFd folder;
  std::string path;
  for (size_t i = 0; i + 1 < place.size(); ++i) {
    absl::StrAppend(&path, i == 0 ? "" : "/", place[i]);
    const int above = folder.valid() ? folder.get() : root_.get();
    TONY_ASSIGN_OR_RETURN(folder, OpenOrMakeFolder(above, place[i], path));
  }
  last_parent_ = std::move(folder);
  last_parent_path_ = parent_path;
  return last_parent_.get();
}

// A folder made as a parent gets the mode of its own entry when that comes. A folder that existed
// before keeps its mode.
absl::Status ArchiveDestination::MakeFolder(const PathParts& place, mode_t mode) {
  if (place.empty()) return absl::OkStatus();  // the entry "./": the destination keeps its mode
  TONY_ASSIGN_OR_RETURN(const int parent, OpenParent(place));
  const std::string path = JoinParts(place);
  TONY_ASSIGN_OR_RETURN(const UniqueFd folder, OpenOrMakeFolder(parent, place.back(), path));
  if (made_as_parent_.erase(path) == 0) return absl::OkStatus();
  if (fchmod(folder.get(), (mode & 0755) | 0700) != 0) {
    return ErrnoError(errno, absl::StrCat("cannot set the mode of the folder ", Quoted(path)));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> ArchiveDestination::MakeFile(const PathParts& place) {
  TONY_ASSIGN_OR_RETURN(const int parent, OpenParent(place));
  // O_EXCL refuses every existing name, also a dangling link.
  UniqueFd file(openat(parent, place.back().c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid())
    return ErrnoError(errno, absl::StrCat("cannot make ", Quoted(JoinParts(place))));
  return file;
}

absl::Status ArchiveDestination::SetFile(int fd, const PathParts& place, mode_t mode,
                                         const std::optional<timespec>& modification_time) {
  if (fchmod(fd, (mode & 0755) | 0400) != 0) {
    return ErrnoError(errno, absl::StrCat("cannot set the mode of ", Quoted(JoinParts(place))));
  }
  if (!modification_time.has_value()) return absl::OkStatus();
  const timespec times[] = {*modification_time, *modification_time};
  if (futimens(fd, times) != 0) {
    return ErrnoError(errno, absl::StrCat("cannot set the time of ", Quoted(JoinParts(place))));
  }
  return absl::OkStatus();
}

absl::Status ArchiveDestination::MakeSymbolicLink(const PathParts& place,
                                                  const std::string& target) {
  TONY_ASSIGN_OR_RETURN(const int parent, OpenParent(place));
  if (symlinkat(target.c_str(), parent, place.back().c_str()) != 0) {
    return ErrnoError(errno, absl::StrCat("cannot make the link ", Quoted(JoinParts(place))));
  }
  return absl::OkStatus();
}

absl::Status ArchiveDestination::MakeHardLink(const PathParts& place, const PathParts& existing) {
  // The existing file is opened first: OpenParent() keeps only one folder open, and that has to be
  // the new name's.
  const std::string existing_path = JoinParts(existing);
  const auto refuse = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("hard link to ", Quoted(existing_path), ", which is no file unpacked before"));
  };
  if (existing.empty()) return refuse();
  TONY_ASSIGN_OR_RETURN(const int existing_parent, OpenParent(existing));
  UniqueFd file(openat(existing_parent, existing.back().c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info;
  if (!file.valid() || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return refuse();
  TONY_ASSIGN_OR_RETURN(const int parent, OpenParent(place));
  // The link is made to the open descriptor, not to the name: nobody can replace the file between
  // the check and the call.
  const std::string by_descriptor = absl::StrCat("/proc/self/fd/", file.get());
  if (linkat(AT_FDCWD, by_descriptor.c_str(), parent, place.back().c_str(), AT_SYMLINK_FOLLOW) !=
      0) {
    return ErrnoError(errno, absl::StrCat("cannot make the link ", Quoted(JoinParts(place))));
  }
  return absl::OkStatus();
}

std::optional<std::string> ArchiveDestination::ReadLink(const std::string& path) const {
  char target[PATH_MAX];
  const ssize_t length = readlinkat(root_.get(), path.c_str(), target, sizeof(target));
  if (length < 0) return std::nullopt;
  return std::string(target, static_cast<size_t>(length));
}

}  // namespace tony::os
