// Uses the openat() family throughout. If the umask has removed the owner's permissions, the mode
// is repaired through a descriptor.
#include "os/files/folder_handle.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/files/folder_owner.h"

namespace tony::os {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;
constexpr size_t kCopyBlockBytes = 1 << 20;

absl::Status CheckName(const std::string& name) {
  if (!name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(Quoted(name), " is no name in a folder"));
}

/// Opens a folder and restores this user's permissions if the umask has removed them. A folder
/// `made` here gets whatever is missing; another folder is repaired only if the user has no
/// permission at all, since other modes may be intended.
UniqueFd OpenFolder(int parent, const std::string& name, bool made) {
  UniqueFd folder(openat(parent, name.c_str(), kFolderFlags));
  if (folder.valid() || errno != EACCES) return folder;
  const UniqueFd by_path(
      openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!by_path.valid()) return UniqueFd();
  if (!made && !LacksItsMode(by_path.get())) {
    errno = EACCES;
    return UniqueFd();
  }
  ChmodByDescriptor(by_path.get(), kFolderMode);
  return UniqueFd(openat(parent, name.c_str(), kFolderFlags));
}

/// The error for a `name` that could not be used as a folder.
absl::Status NotAFolder(int parent, const std::string& name, const std::string& path, int error) {
  struct stat info;
  const bool is_link = (error == ELOOP || error == ENOTDIR) &&
                       fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                       S_ISLNK(info.st_mode);
  if (is_link) {
    return absl::FailedPreconditionError(
        absl::StrCat(Quoted(path), " is a symbolic link, where a folder is to be"));
  }
  return ErrnoError(error, absl::StrCat("cannot open the folder ", Quoted(path)));
}

absl::Status CopyBytes(int from, int to, const std::string& from_path, const std::string& to_path) {
  std::string buffer(kCopyBlockBytes, '\0');
  while (true) {
    const ssize_t count = read(from, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoError(errno, absl::StrCat("cannot read ", Quoted(from_path)));
    if (count == 0) return absl::OkStatus();
    TONY_RETURN_IF_ERROR(WriteAll(to, buffer.data(), static_cast<size_t>(count), to_path));
  }
}

}  // namespace

absl::StatusOr<FolderHandle> FolderHandle::Make(const std::string& name) const {
  TONY_RETURN_IF_ERROR(CheckName(name));
  const std::string path = PathOf(name);
  if (mkdirat(fd(), name.c_str(), kFolderMode) != 0) {
    return ErrnoError(errno, absl::StrCat("cannot make the folder ", Quoted(path)));
  }
  UniqueFd folder = OpenFolder(fd(), name, /*made=*/true);
  if (!folder.valid()) return NotAFolder(fd(), name, path, errno);
  if (fchmod(folder.get(), kFolderMode) != 0) {
    return ErrnoError(errno, absl::StrCat("cannot set the mode of the folder ", Quoted(path)));
  }
  TONY_RETURN_IF_ERROR(CheckOwnFolder(folder.get(), path));
  return FolderHandle(std::move(folder), path);
}

absl::StatusOr<FolderHandle> FolderHandle::Open(const std::string& name) const {
  TONY_RETURN_IF_ERROR(CheckName(name));
  const std::string path = PathOf(name);
  UniqueFd folder = OpenFolder(fd(), name, /*made=*/false);
  if (!folder.valid()) return NotAFolder(fd(), name, path, errno);
  TONY_RETURN_IF_ERROR(CheckOwnFolder(folder.get(), path));
  return FolderHandle(std::move(folder), path);
}

absl::StatusOr<FolderHandle> FolderHandle::OpenOrMake(const std::string& name) const {
  absl::StatusOr<FolderHandle> folder = Open(name);
  if (!absl::IsNotFound(folder.status())) return folder;
  absl::StatusOr<FolderHandle> made = Make(name);
  // Another process may have made the folder in the meantime.
  return absl::IsAlreadyExists(made.status()) ? Open(name) : std::move(made);
}

absl::StatusOr<UniqueFd> FolderHandle::MakeFile(const std::string& name) const {
  TONY_RETURN_IF_ERROR(CheckName(name));
  UniqueFd file(
      openat(fd(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  if (!file.valid() || fchmod(file.get(), kFileMode) != 0) {
    return ErrnoError(errno, absl::StrCat("cannot make ", Quoted(PathOf(name))));
  }
  return file;
}

absl::Status FolderHandle::CreateFile(const std::string& name, const std::string& contents) const {
  TONY_ASSIGN_OR_RETURN(const UniqueFd file, MakeFile(name));
  const absl::Status written = WriteAll(file.get(), contents.data(), contents.size(), PathOf(name));
  if (!written.ok()) unlinkat(fd(), name.c_str(), 0);
  return written;
}

absl::Status FolderHandle::ReplaceFile(const std::string& name, const std::string& contents,
                                       mode_t mode) const {
  TONY_RETURN_IF_ERROR(CheckName(name));
  // The temporary name is short and independent of the final name, which may already have the
  // maximum length.
  const std::string temporary = absl::StrFormat(".tony-%06x", std::random_device()() & 0xffffff);
  TONY_RETURN_IF_ERROR(CreateFile(temporary, contents));
  absl::Status replaced;
  if (mode != kFileMode && fchmodat(fd(), temporary.c_str(), mode, 0) != 0) {
    replaced = ErrnoError(errno, absl::StrCat("cannot set the mode of ", Quoted(PathOf(name))));
  }
  if (replaced.ok()) replaced = Rename(temporary, name);
  if (!replaced.ok()) unlinkat(fd(), temporary.c_str(), 0);
  return replaced;
}

absl::Status FolderHandle::CopyFile(const std::string& source, const std::string& name) const {
  // O_NONBLOCK keeps open() from blocking if `source` is a pipe, which is refused below.
  const UniqueFd from(open(source.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat info;
  if (!from.valid() || fstat(from.get(), &info) != 0) {
    return ErrnoError(errno, absl::StrCat("cannot open ", Quoted(source)));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot copy ", Quoted(source), ": it is no plain file"));
  }
  TONY_ASSIGN_OR_RETURN(const UniqueFd to, MakeFile(name));
  absl::Status copied = CopyBytes(from.get(), to.get(), source, PathOf(name));
  if (copied.ok() && fchmod(to.get(), (info.st_mode & 0777) | 0400) != 0) {
    copied = ErrnoError(errno, absl::StrCat("cannot set the mode of ", Quoted(PathOf(name))));
  }
  if (!copied.ok()) unlinkat(fd(), name.c_str(), 0);
  return copied;
}

absl::StatusOr<UniqueFd> FolderHandle::OpenForAppending(const std::string& name) const {
  TONY_RETURN_IF_ERROR(CheckName(name));
  UniqueFd file(OpenOrMakeFileAt(fd(), name, O_WRONLY | O_APPEND | O_NOFOLLOW, kFileMode));
  if (!file.valid()) return ErrnoError(errno, absl::StrCat("cannot open ", Quoted(PathOf(name))));
  return file;
}

absl::Status FolderHandle::Rename(const std::string& from, const std::string& to) const {
  TONY_RETURN_IF_ERROR(CheckName(from));
  TONY_RETURN_IF_ERROR(CheckName(to));
  if (renameat(fd(), from.c_str(), fd(), to.c_str()) == 0) return absl::OkStatus();
  // For a folder that is not empty, file systems report ENOTEMPTY or EEXIST; both become
  // AlreadyExists.
  const int error = errno == ENOTEMPTY ? EEXIST : errno;
  return ErrnoError(error, absl::StrCat("cannot make ", Quoted(PathOf(to))));
}

bool FolderHandle::HasOwnFile(const std::string& name) const {
  struct stat info;
  return fstatat(fd(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode) &&
         info.st_uid == geteuid();
}

absl::StatusOr<std::vector<std::string>> FolderHandle::List() const {
  const std::string what = absl::StrCat("cannot list the folder ", Quoted(path_));
  UniqueFd own(openat(fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own.valid()) return ErrnoError(errno, what);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(own.get()), &closedir);
  if (!stream) return ErrnoError(errno, what);
  own.Release();
  std::vector<std::string> names;
  // Only errno tells an error of readdir() from the end of the folder.
  errno = 0;
  while (const dirent* entry = readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
    errno = 0;
  }
  if (errno != 0) return ErrnoError(errno, what);
  return names;
}

}  // namespace tony::os
