// Reads a log's segments backwards, from the last one, until the requested number of bytes is full.
#include "pagedata/folder_logs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "logs/log_segments.h"
#include "os/files/files.h"
#include "os/files/unique_fd.h"

namespace tony::pagedata {
namespace {

/// Puts the end of the segment `path` in front of `tail`, as far as `most` leaves room for it.
absl::Status Prepend(const std::string& path, size_t most, web::LogTail& tail) {
  // The program may have replaced the file. O_NOFOLLOW keeps a symbolic link from leading
  // elsewhere, O_NONBLOCK keeps a FIFO from blocking.
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info;
  if (!file.valid() || ::fstat(file.get(), &info) != 0) return os::ErrnoError(errno, path);
  if (!S_ISREG(info.st_mode)) return absl::NotFoundError(absl::StrCat(path, " is no file"));
  const auto size = static_cast<size_t>(info.st_size);
  std::string bytes(std::min(size, most - tail.bytes.size()), '\0');
  const ssize_t read =
      ::pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(size - bytes.size()));
  if (read < 0) return os::ErrnoError(errno, path);
  tail.left_out += static_cast<int64_t>(size - bytes.size());
  bytes.resize(static_cast<size_t>(read));
  tail.bytes.insert(0, bytes);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<web::LogTail> ReadLogTail(const std::string& path, size_t most) {
  std::vector<int> segments = logs::FindLogSegments(path);
  if (segments.empty()) return absl::NotFoundError(absl::StrCat("there is no ", path));
  web::LogTail tail;
  for (auto number = segments.rbegin(); number != segments.rend(); ++number) {
    const absl::Status read = Prepend(logs::LogSegmentPath(path, *number), most, tail);
    // The log may drop a segment at any time; the segments behind it are still there.
    if (!read.ok() && !absl::IsNotFound(read)) return read;
  }
  return tail;
}

void FolderLogs::ReadTail(const core::TaskId& task, int attempt, Stream stream, size_t most,
                          Take take) {
  take(ReadLogTail(absl::StrCat(folder_.task_logs(task), "/attempt-", attempt, "/",
                                stream == Stream::kStdout ? "stdout" : "stderr", ".log"),
                   most));
}

}  // namespace tony::pagedata
