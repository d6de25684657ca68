// Open-file-description locks (fcntl F_OFD_*); flock() cannot be asked without taking it.
#include "os/file_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "os/files.h"

namespace tony::os {
namespace {

constexpr mode_t kMode = 0600;

struct flock WholeFile() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

/// A file that a umask of 0700 or the like has taken from its owner, and whose maker was killed, or
/// interrupted, before it gave the permissions back.
void GiveBackPermissions(int folder, const char* name) {
  const UniqueFd file(openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info;
  if (!file.valid() || fstat(file.get(), &info) != 0) return;
  if (!S_ISREG(info.st_mode) || info.st_uid != geteuid()) return;
  // fchmod does not take O_PATH: hence through /proc.
  chmod(absl::StrCat("/proc/self/fd/", file.get()).c_str(), kMode);
}

/// Invalid, with errno, when it cannot be opened.
UniqueFd OpenOrMakeFileAt(int folder, const char* name, int flags) {
  flags |= O_CLOEXEC;
  while (true) {
    UniqueFd fd(openat(folder, name, flags));
    if (!fd.valid() && errno == EACCES) {
      GiveBackPermissions(folder, name);
      fd.Reset(openat(folder, name, flags));
    }
    if (fd.valid() || errno != ENOENT) return fd;
    fd.Reset(openat(folder, name, flags | O_CREAT | O_EXCL, kMode));
    if (fd.valid()) {
      fchmod(fd.get(), kMode);  // the umask may have taken something away
      return fd;
    }
    // Somebody else made it in between.
    if (errno != EEXIST) return fd;
  }
}

absl::StatusOr<UniqueFd> Lock(UniqueFd fd, const std::string& path) {
  if (!fd.valid()) return ErrnoError(errno, absl::StrCat("cannot open the lock ", path));
  struct flock lock = WholeFile();
  if (fcntl(fd.get(), F_OFD_SETLK, &lock) == 0) return fd;
  if (errno == EAGAIN || errno == EACCES) {
    return absl::AlreadyExistsError(absl::StrCat("another process holds the lock ", path));
  }
  return ErrnoError(errno, absl::StrCat("cannot lock ", path));
}

}  // namespace

UniqueFd OpenOrMakeFile(const std::string& path, int flags) {
  return OpenOrMakeFileAt(AT_FDCWD, path.c_str(), flags);
}

absl::StatusOr<UniqueFd> LockFile(const std::string& path) {
  return Lock(OpenOrMakeFile(path, O_RDWR), path);
}

absl::StatusOr<UniqueFd> LockFile(const FolderHandle& folder, const std::string& name) {
  return Lock(OpenOrMakeFileAt(folder.fd(), name.c_str(), O_RDWR | O_NOFOLLOW),
              folder.PathOf(name));
}

bool IsFileLocked(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct flock lock = WholeFile();
  return fd.valid() && fcntl(fd.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace tony::os
