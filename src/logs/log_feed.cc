// One segment at a time, from where it was left.
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

/// An open file and what it is; without a descriptor when it is gone or no file.
struct OpenFile {
  os::UniqueFd fd;
  int64_t size = 0;
  int64_t number = 0;  ///< among the file system's files
  int error = 0;       ///< not 0: why it cannot be read
};

/// Whether `open` says so of what is gone or no file.
bool IsNoFile(int error) { return error == ENOENT || error == ELOOP || error == ENXIO; }

OpenFile OpenToRead(const std::string& path) {
  // What the program may have put in the file's place must neither lead elsewhere nor block.
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

/// Of the bytes from `from` to `to` the first; none when there are none, or with an error.
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
  while (!noted_.empty() || Look()) {
    std::optional<LogPiece> piece = ReadSegment(*noted_.begin());
    if (piece) return piece;
    noted_.erase(noted_.begin());
  }
  return std::nullopt;
}

bool LogFeed::Look() {
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

void LogFeed::Note(const std::string& name) {
  std::optional<ContainerLogFile> file = ParseContainerLog(name);
  if (!file || !wanted_(*file)) return;
  file->times = false;
  noted_.insert(*file);
}

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
  if (segment.version != log.number) segment = {.version = log.number};
  if (segment.goal < 0) segment.goal = log.size;
  LogPiece piece{
      .file = file, .version = segment.version, .offset = segment.times_given, .bytes = ""};
  if (file.of_program()) {
    piece.file.times = true;
    // When these cannot be read, the lines have no times.
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
