// O_NONBLOCK keeps a pipe without a writer from blocking, O_NOFOLLOW a link from leading elsewhere.
#include "history/record_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files/files.h"

namespace tony::history {

absl::StatusOr<os::UniqueFd> OpenRecordFile(const std::string& path) {
  os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return os::ErrnoError(errno, path);
  if (!S_ISREG(status.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is no plain file"));
  }
  return file;
}

absl::StatusOr<std::string> ReadRecordFile(const std::string& path, size_t most) {
  TONY_ASSIGN_OR_RETURN(const os::UniqueFd file, OpenRecordFile(path));
  return os::ReadAtMost(file.get(), most, path);
}

}  // namespace tony::history
