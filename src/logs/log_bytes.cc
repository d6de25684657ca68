// The line that stands in place of dropped segments says how many bytes they had.
#include "logs/log_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "logs/log_segments.h"
#include "os/files/files.h"

namespace tony::logs {
namespace {

/// The file of a notice is short; a longer one is a segment.
constexpr int64_t kMostNoticeBytes = 512;

/// The bytes that a notice (SegmentedLog::DropOldest()) says were dropped; nothing for other text.
std::optional<int64_t> DroppedBytes(absl::string_view text) {
  int64_t bytes = 0;
  if (!absl::ConsumePrefix(&text, "[tony: ")) return std::nullopt;
  const size_t digits = text.find(' ');
  if (digits == absl::string_view::npos || !absl::SimpleAtoi(text.substr(0, digits), &bytes) ||
      text.substr(digits).find(" bytes of this log were dropped here") != 0) {
    return std::nullopt;
  }
  return bytes;
}

/// Reads `size` bytes, or as many as there are.
absl::StatusOr<std::string> ReadAt(int fd, int64_t offset, size_t size, const std::string& path) {
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t count =
        ::pread(fd, bytes.data() + done, size - done, offset + static_cast<int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os::ErrnoError(errno, path);
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace

// O_NONBLOCK keeps a FIFO from blocking.
absl::StatusOr<os::UniqueFd> OpenSegment(const std::string& path) {
  os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (!file.valid() || ::fstat(file.get(), &info) != 0) return os::ErrnoError(errno, path);
  if (!S_ISREG(info.st_mode)) return absl::NotFoundError(absl::StrCat(path, " is no file"));
  return file;
}

absl::StatusOr<LogBytes> LogBytes::Open(const std::string& path) {
  LogBytes log;
  for (const int number : FindLogSegments(path)) {
    const std::string name = LogSegmentPath(path, number);
    const absl::StatusOr<os::UniqueFd> file = OpenSegment(name);
    if (!file.ok()) continue;  // it was dropped meanwhile, or the program has replaced it
    struct stat info {};
    if (::fstat(file->get(), &info) != 0) continue;
    if (number > 1 && info.st_size <= kMostNoticeBytes) {
      TONY_ASSIGN_OR_RETURN(const std::string text,
                            ReadAt(file->get(), 0, static_cast<size_t>(info.st_size), name));
      if (const std::optional<int64_t> dropped = DroppedBytes(text)) {
        log.dropped_offset_ = log.size_;
        log.dropped_bytes_ = *dropped;
        log.size_ += *dropped;
        continue;
      }
    }
    log.segments_.push_back({name, number, log.size_, info.st_size});
    log.size_ += info.st_size;
  }
  if (log.segments_.empty()) return absl::NotFoundError(absl::StrCat("there is no ", path));
  return log;
}

int64_t LogBytes::Existing(int64_t offset) const {
  const int64_t end = dropped_offset_ + dropped_bytes_;
  return offset >= dropped_offset_ && offset < end ? end : offset;
}

int64_t LogBytes::OffsetOf(const LogPosition& position) const {
  for (const Segment& segment : segments_) {
    if (segment.number == position.segment && position.offset < segment.size) {
      return segment.begin + position.offset;
    }
  }
  return -1;
}

absl::StatusOr<std::string> LogBytes::Read(int64_t offset, size_t most) const {
  std::string bytes;
  for (const Segment& segment : segments_) {
    const int64_t here = offset + static_cast<int64_t>(bytes.size());
    if (here < segment.begin || here >= segment.begin + segment.size) continue;
    if (bytes.size() == most) break;
    const absl::StatusOr<os::UniqueFd> file = OpenSegment(segment.path);
    if (absl::IsNotFound(file.status())) break;
    if (!file.ok()) return file.status();
    const auto left = static_cast<size_t>(segment.begin + segment.size - here);
    const size_t wanted = std::min(left, most - bytes.size());
    TONY_ASSIGN_OR_RETURN(const std::string part,
                          ReadAt(file->get(), here - segment.begin, wanted, segment.path));
    bytes += part;
    if (part.size() < wanted) break;  // a notice has taken the segment's place
  }
  return bytes;
}

}  // namespace tony::logs
