// Reads one segment at a time, from the position where the last read ended; a set of noted segments
// says which ones may have something new.
#include "logs/log_feed.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/files/unique_fd.h"

namespace tony::logs {
namespace {

/// An open file with its facts; without a descriptor if the file is gone or not a regular file.
struct OpenFile {
  os::UniqueFd fd;
  int64_t size = 0;
  int64_t number = 0;  ///< inode number
  int error = 0;       ///< errno value if the file cannot be read; 0: it can
};

/// Whether open() returned `error` because the path is gone or names no regular file.
bool IsNoFile(int error) { return error == ENOENT || error == ELOOP || error == ENXIO; }

OpenFile OpenToRead(const std::string& path) {
  // The program may have replaced the file: a link must not lead elsewhere, a pipe must not block.
  OpenFile file{os::UniqueFd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC))};
  if (!file.fd.valid() && !IsNoFile(errno)) file.error = errno;
  struct stat info {};
  if (file.fd.valid() && (fstat(file.fd.get(), &info) != 0 || !S_ISREG(info.st_mode))) {
    file.fd.Reset();
  }
  file.size = info.st_size;
  file.number = static_cast<int64_t>(info.st_ino);
  return file;
}

/// The first bytes between `from` and `to`, at most kMostBytes; empty if there are none or on an
/// error.
std::string ReadPiece(OpenFile& file, int64_t from, int64_t to) {
  if (!file.fd.valid() || to <= from) return "";
  std::string bytes(std::min<size_t>(LogFeed::kMostBytes, static_cast<size_t>(to - from)), '\0');
  const ssize_t count = pread(file.fd.get(), bytes.data(), bytes.size(), from);
  if (count < 0) file.error = errno;
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(0, count)));
  return bytes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LogFeed>> LogFeed::Open(const std::string& folder, Wanted wanted,
                                                       bool follow) {
  std::unique_ptr<LogFeed> feed(new LogFeed(folder, std::move(wanted)));
  if (follow) {
    TONY_ASSIGN_OR_RETURN(feed->watcher_, os::FolderWatcher::Create());
    TONY_RETURN_IF_ERROR(feed->watcher_->Watch(folder));
  }
  feed->NoteAll();
  return feed;
}

std::optional<LogPiece> LogFeed::Next() {
  while (!noted_.empty() || FindSegments()) {
    std::optional<LogPiece> piece = ReadSegment(*noted_.begin());
    if (piece) return piece;
    noted_.erase(noted_.begin());
  }
  return std::nullopt;
}

// The watcher reports the folder itself when the kernel's queue overflowed: then every segment may
// have changed.
bool LogFeed::FindSegments() {
  if (watcher_ == nullptr) return false;
  const auto changed = watcher_->Wait(std::chrono::milliseconds(0));
  if (!changed.ok()) return false;
  for (const std::string& path : *changed) {
    if (path == folder_) {
      NoteAll();
    } else {
      Note(path.substr(folder_.size() + 1));
    }
  }
  return !noted_.empty();
}

void LogFeed::NoteAll() {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder_, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    Note(entry->path().filename().string());
    entry.increment(error);
  }
}

// A file of times is noted as its segment: ReadSegment() gives both.
void LogFeed::Note(const std::string& name) {
  std::optional<ContainerLogFile> file = ParseContainerLog(name);
  if (!file || !wanted_(*file)) return;
  file->times = false;
  noted_.insert(*file);
}

// A segment that cannot be read is reported once. The flag is cleared by the next successful read,
// so a later failure is reported again.
std::optional<LogPiece> LogFeed::Trouble(const ContainerLogFile& file, int error) {
  if (std::exchange(segments_[file].in_trouble, true)) return std::nullopt;
  const absl::Status why =
      os::ErrnoError(error, absl::StrCat(ContainerLogName(file), " cannot be read"));
  return LogPiece{.file = file, .trouble = std::string(why.message())};
}

std::optional<LogPiece> LogFeed::ReadSegment(const ContainerLogFile& file) {
  OpenFile log = OpenToRead(absl::StrCat(folder_, "/", ContainerLogName(file)));
  if (log.error != 0) return Trouble(file, log.error);
  if (!log.fd.valid()) return std::nullopt;
  Segment& segment = segments_[file];
  // Another inode number means that the file was replaced: it is given again from its start.
  if (segment.version != log.number) segment = {.version = log.number};
  // The goal is the size at the start of the segment's turn. Bytes that arrive later wait for the
  // next turn, so that a file that grows all the time does not keep the others waiting.
  if (segment.goal < 0) segment.goal = log.size;
  LogPiece piece{
      .file = file, .version = segment.version, .offset = segment.times_given, .bytes = ""};
  if (file.of_program()) {
    piece.file.times = true;
    // If the times cannot be read, the lines simply have no times.
    OpenFile times = OpenToRead(absl::StrCat(folder_, "/", ContainerLogName(piece.file)));
    piece.bytes = ReadPiece(times, segment.times_given, times.size);
    segment.times_given += static_cast<int64_t>(piece.bytes.size());
    if (!piece.bytes.empty()) return piece;
    piece.file.times = false;
  }
  piece.offset = segment.given;
  piece.bytes = ReadPiece(log, segment.given, segment.goal);
  if (log.error != 0) return Trouble(file, log.error);
  segment.in_trouble = false;
  segment.given += static_cast<int64_t>(piece.bytes.size());
  if (!piece.bytes.empty()) return piece;
  segment.goal = -1;
  return std::nullopt;
}

}  // namespace tony::logs
