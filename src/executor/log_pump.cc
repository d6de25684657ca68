// Reading the pipe and writing the file.
#include "executor/log_pump.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"

namespace tony::executor {
namespace {

/// A program that prints in bursts fills a pipe of the default 64 KiB at once.
constexpr int kPipeBytes = 1 << 20;
constexpr size_t kReadBytes = 64 << 10;

}  // namespace

absl::StatusOr<std::unique_ptr<LogPump>> LogPump::Open(EventLoop& loop, const std::string& path,
                                                       Observer observer) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return os::ErrnoError(errno, "cannot make a pipe for output");
  os::UniqueFd read_end(ends[0]);
  os::UniqueFd write_end(ends[1]);
  // Only our end: the program must see a blocking pipe.
  fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  // Refused beyond the user's pipe quota; then it stays small.
  fcntl(read_end.get(), F_SETPIPE_SZ, kPipeBytes);
  TONY_ASSIGN_OR_RETURN(os::AppendFile file, os::AppendFile::Open(path));
  auto pump = std::unique_ptr<LogPump>(new LogPump(std::move(read_end), std::move(write_end),
                                                   std::move(file), path, std::move(observer)));
  pump->watch_ = loop.WatchReadable(pump->read_end_.get(), [raw = pump.get()] { raw->ReadOnce(); });
  return pump;
}

LogPump::LogPump(os::UniqueFd read_end, os::UniqueFd write_end, os::AppendFile file,
                 std::string path, Observer observer)
    : read_end_(std::move(read_end)),
      write_end_(std::move(write_end)),
      file_(std::move(file)),
      path_(std::move(path)),
      observer_(std::move(observer)) {}

void LogPump::Drain() {
  int waiting = 0;
  if (ioctl(read_end_.get(), FIONREAD, &waiting) != 0) return;
  for (ssize_t left = waiting; left > 0;) {
    const ssize_t count = ReadOnce();
    if (count <= 0) return;
    left -= count;
  }
}

ssize_t LogPump::ReadOnce() {
  char buffer[kReadBytes];
  ssize_t count;
  do {
    count = read(read_end_.get(), buffer, sizeof buffer);
  } while (count < 0 && errno == EINTR);
  if (count == 0) watch_.reset();
  if (count <= 0) return count;
  observer_(buffer, static_cast<size_t>(count));
  const absl::Status written = file_.Append(std::string(buffer, static_cast<size_t>(count)));
  if (!written.ok() && !said_loss_) {
    said_loss_ = true;
    LogError(absl::StrCat("output is being lost: ", std::string(written.message())));
  }
  return count;
}

}  // namespace tony::executor
