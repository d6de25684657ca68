// Cuts output into segments at line ends, drops old segments in one rename, and replaces output
// that could not be written by a line with its size.
#include "logs/segmented_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "logs/log_segments.h"
#include "os/files/files.h"

namespace tony::logs {
namespace {

/// How far in bytes a segment may exceed its size so that a line stays whole; for a small segment,
/// a quarter of its size.
constexpr int64_t kLinePatience = 64 << 10;

// In a folder that its group may enter, the group may read the log. Where containers run as their
// jobs' owners, YARN's NodeManager is in that group, and has to read their logs.
mode_t ModeFor(const std::string& path) {
  struct stat folder {};
  const std::string name = path.substr(0, path.rfind('/'));
  return stat(name.c_str(), &folder) == 0 && (folder.st_mode & S_IXGRP) != 0 ? 0640 : 0600;
}

absl::StatusOr<os::UniqueFd> OpenForAppending(const std::string& path) {
  os::UniqueFd fd(os::OpenOrMakeFile(path, O_WRONLY | O_APPEND, ModeFor(path)));
  if (!fd.valid()) return os::ErrnoError(errno, absl::StrCat("cannot open ", os::Quoted(path)));
  return fd;
}

/// The size of the file in bytes; 0 if there is no file.
int64_t SizeOf(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 ? info.st_size : 0;
}

/// Returns the number of bytes written; if it is less than `size`, errno says why.
size_t WriteSome(int fd, const char* data, size_t size) {
  size_t written = 0;
  while (written < size) {
    const ssize_t count = write(fd, data + written, size - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    written += static_cast<size_t>(count);
  }
  return written;
}

/// Position after the last '\n' of the bytes; 0 if there is none.
size_t BehindLastNewline(const char* data, size_t size) {
  const void* found = memrchr(data, '\n', size);
  return found == nullptr ? 0 : static_cast<size_t>(static_cast<const char*>(found) - data) + 1;
}

}  // namespace

absl::StatusOr<SegmentedLog> SegmentedLog::Open(const std::string& path, LogLimits limits,
                                                OnLoss on_loss) {
  SegmentedLog log(path, limits, std::move(on_loss));
  const std::vector<int> there = FindLogSegments(path);
  TONY_RETURN_IF_ERROR(log.OpenSegment(there.empty() ? 1 : there.back()));
  if (there.size() > 1) log.oldest_ = there[1];
  return log;
}

absl::Status SegmentedLog::OpenSegment(int number) {
  TONY_ASSIGN_OR_RETURN(os::UniqueFd file, OpenForAppending(LogSegmentPath(path_, number)));
  file_ = std::move(file);
  number_ = number;
  // The times' file is opened only if it exists: NoteTime() creates it with the first byte, since
  // most programs write nothing to one of their two outputs.
  const std::string times = LogTimesPath(path_, number);
  times_.Reset(open(times.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  size_ = SizeOf(file_.get());
  times_size_ = SizeOf(times_.get());
  last_noted_ = 0;
  return absl::OkStatus();
}

void SegmentedLog::Append(const char* data, size_t size, int64_t unix_millis) {
  while (size > 0) {
    size_t piece = Fitting(data, size);
    if (piece == 0) {
      const absl::Status opened = OpenSegment(number_ + 1);
      if (!opened.ok()) return Lose(size, std::string(opened.message()));
      DropOldest();
      piece = std::max<size_t>(1, Fitting(data, size));
    }
    Write(data, piece, unix_millis);
    data += piece;
    size -= piece;
  }
}

size_t SegmentedLog::Fitting(const char* data, size_t size) const {
  const int64_t room = limits_.segment_bytes - size_ - times_size_;
  if (static_cast<int64_t>(size) <= room) return size;
  if (room > 0) {
    const size_t lines = BehindLastNewline(data, static_cast<size_t>(room));
    if (lines > 0) return lines;
  }
  // The line at hand does not fit into the room. A line that has begun in this segment is finished
  // here, unless it is very long.
  if (at_line_start_ && size_ > 0) return 0;
  const int64_t patience = std::min(kLinePatience, limits_.segment_bytes / 4);
  const int64_t most = std::min(static_cast<int64_t>(size), room + patience);
  if (most <= 0) return 0;
  const void* newline = std::memchr(data, '\n', static_cast<size_t>(most));
  return newline == nullptr ? static_cast<size_t>(most)
                            : static_cast<size_t>(static_cast<const char*>(newline) - data) + 1;
}

void SegmentedLog::DropOldest() {
  const int64_t kept = std::max<int64_t>(2, limits_.total_bytes / limits_.segment_bytes);
  // The kept segments are the first one and those from oldest_ to number_. The segment that holds
  // the notice is not counted.
  const int64_t first_kept = number_ - kept + 2;
  if (first_kept <= oldest_) return;
  const std::string path = LogSegmentPath(path_, oldest_);
  os::UniqueFd doomed(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const int64_t bytes = doomed.valid() ? SizeOf(doomed.get()) : 0;
  const bool first_time = dropped_bytes_ == 0;
  dropped_bytes_ += bytes;
  const std::string notice =
      absl::StrCat("[tony: ", dropped_bytes_, " bytes of this log were dropped here, ",
                   "the limit tony.task.log.max-size being reached]\n");
  // One rename replaces the segment: a reader sees either the old lines or the notice, and the
  // notice stands before the lines that follow it.
  if (!os::WriteFileAtomically(path, notice).ok()) unlink(path.c_str());
  // The first record stays: it tells when the segment began.
  (void)!truncate(LogTimesPath(path_, oldest_).c_str(), kLogTimeBytes);
  if (!first_time) {
    unlink(LogSegmentPath(path_, oldest_ - 1).c_str());
    unlink(LogTimesPath(path_, oldest_ - 1).c_str());
  }
  FreeAside(std::move(doomed));
  ++oldest_;
  if (first_time) {
    on_loss_(absl::StrCat("the log ", path_, " has reached its limit of ",
                          limits_.total_bytes >> 20,
                          " MiB (tony.task.log.max-size, tony.application.log.max-size): its start "
                          "and its end are kept, what lies between is dropped"));
  }
}

void SegmentedLog::FreeAside(os::UniqueFd file) {
  try {
    freeing_ = std::jthread([file = std::move(file)]() mutable { file.Reset(); });
  } catch (const std::system_error&) {
    // No thread is available. The file was closed in the failed call, so its space is freed
    // already.
  }
}

// Lost output is reported before anything else is written. While the notice cannot be written
// either, the new bytes count as lost too, so that the notice stands exactly where bytes are
// missing.
void SegmentedLog::Write(const char* data, size_t size, int64_t unix_millis) {
  if (lost_ > 0 && !AdmitLoss()) return Lose(size, why_lost_);
  NoteTime(unix_millis);
  const size_t written = WriteSome(file_.get(), data, size);
  const int error = errno;
  size_ += static_cast<int64_t>(written);
  if (written > 0) at_line_start_ = data[written - 1] == '\n';
  if (written < size) {
    const std::string path = LogSegmentPath(path_, number_);
    Lose(size - written,
         std::string(
             os::ErrnoError(error, absl::StrCat("cannot write ", os::Quoted(path))).message()));
  }
}

void SegmentedLog::NoteTime(int64_t unix_millis) {
  // A clock that was set back is recorded too.
  const int64_t since = unix_millis - last_noted_;
  if (last_noted_ != 0 && since >= 0 && since < kTimeInterval) return;
  last_noted_ = unix_millis;
  if (!times_.valid()) {
    // Most programs write nothing to one of their two outputs.
    absl::StatusOr<os::UniqueFd> made = OpenForAppending(LogTimesPath(path_, number_));
    if (!made.ok()) return;  // then the lines have no times
    times_ = *std::move(made);
  }
  const std::string record = EncodeLogTime({size_, unix_millis});
  if (WriteSome(times_.get(), record.data(), record.size()) == record.size()) {
    times_size_ += kLogTimeBytes;
  } else {
    (void)!ftruncate(times_.get(), times_size_);  // a partial record would shift all later ones
  }
}

// An incomplete notice is cut off again, so that the log has a notice completely or not at all.
bool SegmentedLog::WriteNotice(const std::string& text) {
  const std::string line = absl::StrCat(at_line_start_ ? "" : "\n", text, "\n");
  if (WriteSome(file_.get(), line.data(), line.size()) < line.size()) {
    (void)!ftruncate(file_.get(), size_);
    return false;
  }
  size_ += static_cast<int64_t>(line.size());
  at_line_start_ = true;
  return true;
}

bool SegmentedLog::AdmitLoss() {
  if (!WriteNotice(
          absl::StrCat("[tony: ", lost_, " bytes of output were lost here: ", why_lost_, "]"))) {
    return false;
  }
  lost_ = 0;
  return true;
}

// The owner is told of the first loss only; Finish() reports the sum.
void SegmentedLog::Lose(size_t size, const std::string& why) {
  const bool first_time = lost_in_all_ == 0;
  lost_ += static_cast<int64_t>(size);
  lost_in_all_ += static_cast<int64_t>(size);
  why_lost_ = why;
  if (first_time) on_loss_(absl::StrCat("output is being lost: ", why));
}

void SegmentedLog::Finish() {
  if (lost_ > 0) (void)AdmitLoss();
  if (lost_in_all_ > 0) {
    on_loss_(absl::StrCat(lost_in_all_, " bytes of output were lost: ", why_lost_));
  }
  lost_ = 0;
  lost_in_all_ = 0;
}

}  // namespace tony::logs
