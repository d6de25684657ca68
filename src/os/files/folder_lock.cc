// The folder itself is locked: a lock file would need the right to write, would be left behind, and
// a program that lists the folder would take it for one of its own files.
#include "os/files/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "os/files/files.h"
#include "os/files/user_names.h"

namespace tony::os {

absl::StatusOr<UniqueFd> LockFolder(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoError(errno, path);
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return absl::AlreadyExistsError(HolderOfFolderLock(fd.get()));
    const bool has_none = errno == EOPNOTSUPP || errno == ENOLCK || errno == ENOSYS ||
                          errno == EINVAL || errno == EBADF;
    if (!has_none) return ErrnoError(errno, path);
    return absl::UnimplementedError(ErrnoError(errno, path).message());
  }
  return fd;
}

std::string HolderOfFolderLock(int fd) {
  constexpr char kUnknown[] = "another process";
  const std::string locks = ReadFile("/proc/locks").value_or("");
  struct stat info {};
  if (fstat(fd, &info) != 0) return kUnknown;
  const std::string file = absl::StrFormat("%02x:%02x:%d", major(info.st_dev), minor(info.st_dev),
                                           static_cast<int64_t>(info.st_ino));
  // A row of the table: "12: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF". Rows with "->" are of
  // processes that wait.
  for (const absl::string_view row : absl::StrSplit(locks, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(row, ' ', absl::SkipEmpty());
    int pid = 0;
    if (fields.size() < 6 || fields[1] != "FLOCK" || fields[5] != file ||
        !absl::SimpleAtoi(fields[4], &pid)) {
      continue;
    }
    struct stat process {};
    // A holder that has ended left the lock to a child, or it is in another namespace of processes.
    if (pid <= 0 || stat(absl::StrCat("/proc/", pid).c_str(), &process) != 0) return kUnknown;
    return absl::StrCat("process ", pid, " of ", UserName(process.st_uid));
  }
  return kUnknown;
}

}  // namespace tony::os
