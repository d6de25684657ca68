// Segment numbers of different containers are kept apart by a fixed distance, so that logs of
// several containers sort one after the other without coordination. A piece is appended only from
// where the copy ends, so tunnels that are opened again may repeat bytes.
#include "history/log_mirror.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "logs/log_segments.h"
#include "os/files/files.h"
#include "os/files/unique_fd.h"

namespace tony::history {
namespace {

using Stream = logs::ContainerLogFile::Stream;

/// Distance between the segment numbers of one container and those of the next. A container has
/// fewer segments than this. kMostOrders times kShift still fits an int.
constexpr int kShift = 100'000;
constexpr int kMostOrders = 20'000;

bool IsOrder(int number) { return number >= 1 && number <= kMostOrders; }

bool IsTaskFolder(const std::string& name) {
  return !absl::StartsWith(name, ".") && !absl::StrContains(name, "/") &&
         absl::StrContains(name, "-");
}

}  // namespace

std::string LogMirror::LogPath(const LogOrigin& origin, const logs::ContainerLogFile& file) const {
  const std::string folder = absl::StrCat(folder_.logs(), "/", origin.folder);
  switch (file.stream) {
    case Stream::kMaster:
      return folder_.am_log();
    case Stream::kExecutor:
      return absl::StrCat(folder, "/executor.log");
    case Stream::kStdout:
      return absl::StrCat(folder, "/attempt-", file.attempt, "/stdout.log");
    case Stream::kStderr:
      return absl::StrCat(folder, "/attempt-", file.attempt, "/stderr.log");
    case Stream::kStacks:
      return absl::StrCat(folder, "/attempt-", file.attempt, "/stacks.txt");
  }
  return "";
}

std::string LogMirror::PathOf(const LogOrigin& origin, const logs::ContainerLogFile& file) {
  const std::string log = LogPath(origin, file);
  const int segment = file.segment + ShiftOf(origin, file, log);
  return file.times ? logs::LogTimesPath(log, segment) : logs::LogSegmentPath(log, segment);
}

int LogMirror::ShiftOf(const LogOrigin& origin, const logs::ContainerLogFile& file,
                       const std::string& log) {
  // Each attempt of a program runs in one container, and has logs of its own.
  if (origin.order > 0 && !file.of_program())
    return (std::min(origin.order, kMostOrders) - 1) * kShift;
  std::map<std::string, int>& shifts = shifts_[log];
  const int next = static_cast<int>(shifts.size()) * kShift;
  return shifts.emplace(origin.container, next).first->second;
}

// logs::SegmentedLog replaces a segment that it drops by a line, and removes the file with the line
// before it; the times of a dropped segment go with it. logs::BoundLog() keeps the first segment,
// the newest and the one before that.
void LogMirror::DropAsWriter(const LogOrigin& origin, const logs::ContainerLogFile& file,
                             bool replaced) {
  if (file.times) return;
  logs::ContainerLogFile dropped = file;
  if (file.of_program()) {
    if (!replaced) return;
    dropped.times = true;
    Drop(origin, dropped);
    dropped.times = false;
    dropped.segment = file.segment - 1;
  } else {
    dropped.segment = file.segment - 2;
  }
  if (dropped.segment > 1) Drop(origin, dropped);
}

void LogMirror::Drop(const LogOrigin& origin, const logs::ContainerLogFile& file) {
  unlink(PathOf(origin, file).c_str());
  copies_.erase({origin.container, file});
}

// A log is found by its first segment, which may be an origin's that comes later, or never.
absl::Status LogMirror::MakeFirst(const std::string& log) {
  if (os::OpenOrMakeFile(log, O_WRONLY | O_APPEND | O_NOFOLLOW).valid()) return absl::OkStatus();
  return os::ErrnoError(errno, absl::StrCat("cannot open ", os::Quoted(log)));
}

absl::Status LogMirror::Take(const LogOrigin& origin, const logs::LogPiece& piece) {
  if (!logs::IsContainerLog(piece.file) ||
      origin.master() != (piece.file.stream == Stream::kMaster) ||
      (origin.master() ? !IsOrder(origin.order) : !IsTaskFolder(origin.folder))) {
    return absl::InvalidArgumentError(
        absl::StrCat("what came as a log of ", origin.task, " is none"));
  }
  const std::lock_guard lock(mutex_);
  if (closed_) return absl::CancelledError("no more logs are copied");
  const std::string path = PathOf(origin, piece.file);
  const auto before = copies_.find({origin.container, piece.file});
  const bool replaced = before != copies_.end() && before->second.version != piece.version;
  if (before == copies_.end() || replaced) DropAsWriter(origin, piece.file, replaced);
  Copy& copy = copies_[{origin.container, piece.file}];
  if (copy.version != piece.version) {
    // Another version is another file with the same name: the copy starts again from zero.
    unlink(path.c_str());
    copy = {piece.version, 0};
  }
  if (piece.offset > copy.size) {
    return absl::DataLossError(absl::StrCat("a part of a log of ", origin.task, " has not come"));
  }
  const auto known = static_cast<size_t>(copy.size - piece.offset);
  if (piece.bytes.size() <= known && copy.size > 0) return absl::OkStatus();
  const std::string_view bytes = std::string_view(piece.bytes).substr(known);
  const auto size = static_cast<int64_t>(bytes.size()) + (copy.size == 0 ? kFileBytes : 0);
  full_ = full_ || size > most_bytes_ - written_;
  if (full_) {
    return absl::OutOfRangeError(
        absl::StrCat("the copies of the logs would take more than ", most_bytes_ >> 20, " MiB"));
  }
  const absl::Status appended = Append(LogPath(origin, piece.file), path, copy, bytes);
  failure_.Update(appended);
  if (appended.ok()) written_ += size;
  return appended;
}

absl::Status LogMirror::Append(const std::string& log, const std::string& path, Copy& copy,
                               std::string_view bytes) {
  TONY_RETURN_IF_ERROR(os::MakeFolders(path.substr(0, path.rfind('/'))));
  if (copy.size == 0) TONY_RETURN_IF_ERROR(MakeFirst(log));
  if (bytes.empty()) return absl::OkStatus();
  const os::UniqueFd fd(os::OpenOrMakeFile(path, O_WRONLY | O_APPEND | O_NOFOLLOW));
  if (!fd.valid()) return os::ErrnoError(errno, absl::StrCat("cannot open ", os::Quoted(path)));
  const absl::Status written = os::WriteAll(fd.get(), bytes.data(), bytes.size(), path);
  if (!written.ok()) {
    // A part of the piece may have been written. It is cut off, because copy.size does not count
    // it.
    (void)ftruncate(fd.get(), copy.size);
    return written;
  }
  copy.size += static_cast<int64_t>(bytes.size());
  return absl::OkStatus();
}

bool LogMirror::full() const {
  const std::lock_guard lock(mutex_);
  return full_;
}

absl::Status LogMirror::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void LogMirror::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

int64_t LogMirror::VersionOf(const LogOrigin& origin, const logs::ContainerLogFile& file) const {
  const std::lock_guard lock(mutex_);
  const auto found = copies_.find({origin.container, file});
  return found == copies_.end() ? 0 : found->second.version;
}

int64_t LogMirror::SizeOf(const LogOrigin& origin, const logs::ContainerLogFile& file) const {
  const std::lock_guard lock(mutex_);
  const auto found = copies_.find({origin.container, file});
  return found == copies_.end() ? 0 : found->second.size;
}

}  // namespace tony::history
