// Switches to the next segment with dup2(), which replaces the descriptor in one step, so that no
// line is lost. Its path is read back from /proc/self/fd.
#include "logs/bounded_log.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "logs/log_segments.h"
#include "os/files/files.h"
#include "os/files/unique_fd.h"

namespace tony::logs {
namespace {

/// The path of the file that `fd` is open on; empty if the kernel names none, as for a pipe.
std::string PathOf(int fd) {
  char path[PATH_MAX];
  const ssize_t length = ::readlink(absl::StrCat("/proc/self/fd/", fd).c_str(), path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "";
}

bool SameFile(const struct stat& one, int fd) {
  struct stat other {};
  return ::fstat(fd, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace

absl::Status BoundLog(int fd, int twin, int64_t segment_bytes) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < segment_bytes) {
    return absl::OkStatus();
  }
  const std::optional<LogSegmentName> segment = ParseLogSegment(PathOf(fd));
  if (!segment) return absl::OkStatus();
  const std::string next = LogSegmentPath(segment->path, segment->number + 1);
  // The new segment gets the mode of the full one, so that it has the same readers.
  const os::UniqueFd file(os::OpenOrMakeFile(next, O_WRONLY | O_APPEND, info.st_mode & 0777));
  if (!file.valid()) return os::ErrnoError(errno, next);
  const bool both = SameFile(info, twin);
  if (::dup2(file.get(), fd) < 0 || (both && ::dup2(file.get(), twin) < 0)) {
    return os::ErrnoError(errno, next);
  }
  if (segment->number > 2) {
    ::unlink(LogSegmentPath(segment->path, segment->number - 1).c_str());
  }
  return absl::OkStatus();
}

}  // namespace tony::logs
