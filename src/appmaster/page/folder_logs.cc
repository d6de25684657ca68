// Reading a log's segments from the last one back.
#include "appmaster/page/folder_logs.h"

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

namespace tony::appmaster {
namespace {

/// Adds the end of the segment before `tail`, as far as there is room for it.
absl::Status Prepend(const std::string& path, size_t most, web::LogTail& tail) {
  // What the program may have put in the file's place must neither lead elsewhere nor block.
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
    // A segment may be dropped at any time; those behind it are there.
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

}  // namespace tony::appmaster
