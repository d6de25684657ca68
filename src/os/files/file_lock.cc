// Open-file-description locks (fcntl F_OFD_*). flock() was not used because it cannot tell whether
// a lock is held without taking it.
#include "os/files/file_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "os/files/files.h"

namespace tony::os {
namespace {

struct flock WholeFile() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
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

absl::StatusOr<UniqueFd> LockFile(const std::string& path) {
  return Lock(OpenOrMakeFile(path, O_RDWR), path);
}

absl::StatusOr<UniqueFd> LockFile(const FolderHandle& folder, const std::string& name) {
  return Lock(OpenOrMakeFileAt(folder.fd(), name, O_RDWR | O_NOFOLLOW), folder.PathOf(name));
}

bool IsFileLocked(const std::string& path) {
  // O_NONBLOCK: a pipe in the lock's place must not block.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct flock lock = WholeFile();
  return fd.valid() && fcntl(fd.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace tony::os
