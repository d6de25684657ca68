// Open-file-description locks (fcntl F_OFD_*); flock() cannot be asked without taking it.
#include "os/file_lock.h"

#include <fcntl.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "os/files.h"

namespace tony::os {
namespace {

struct flock WholeFile() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

absl::StatusOr<UniqueFd> LockFile(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoError(errno, absl::StrCat("cannot open the lock ", path));
  struct flock lock = WholeFile();
  if (fcntl(fd.get(), F_OFD_SETLK, &lock) == 0) return fd;
  if (errno == EAGAIN || errno == EACCES) {
    return absl::AlreadyExistsError(absl::StrCat("another process holds the lock ", path));
  }
  return ErrnoError(errno, absl::StrCat("cannot lock ", path));
}

bool IsFileLocked(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct flock lock = WholeFile();
  return fd.valid() && fcntl(fd.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace tony::os
