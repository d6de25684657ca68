// The bytes pass the pipe, the secret scanner, the pattern redactor, then the observer and the log.
// The pipe is enlarged and read at intervals while the program prints little, which saves wake-ups.
#include "executor/output/log_pump.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/files.h"

namespace tony::executor {
namespace {

/// A program that prints in bursts would fill a pipe of the default 64 KiB at once.
constexpr int kPipeBytes = 1 << 20;
constexpr size_t kReadBytes = 64 << 10;
/// After this many reads, the loop's other work gets its turn.
constexpr int kReadsInARow = 16;
/// Without a pause, a program that prints line by line would wake this process for each line.
constexpr std::chrono::milliseconds kPause{4};

}  // namespace

absl::StatusOr<std::unique_ptr<LogPump>> LogPump::Open(EventLoop& loop, const Clock& clock,
                                                       const std::string& path,
                                                       const LogOptions& options,
                                                       Callbacks callbacks) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return os::ErrnoError(errno, "cannot make a pipe for output");
  os::UniqueFd read_end(ends[0]);
  os::UniqueFd write_end(ends[1]);
  // Only this end is non-blocking: the program must see a blocking pipe.
  fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  // The kernel refuses a size beyond the user's pipe quota; the pipe then stays small.
  const bool large = fcntl(read_end.get(), F_SETPIPE_SZ, kPipeBytes) >= kPipeBytes;
  TONY_ASSIGN_OR_RETURN(PatternRedactor patterns, PatternRedactor::Create(options.redact));
  TONY_ASSIGN_OR_RETURN(logs::SegmentedLog log,
                        logs::SegmentedLog::Open(path, options.limits, callbacks.on_loss));
  auto pump = std::unique_ptr<LogPump>(new LogPump(loop, clock, std::move(read_end),
                                                   std::move(write_end), std::move(log),
                                                   std::move(patterns), std::move(callbacks)));
  pump->may_pause_ = large;
  pump->Watch();
  return pump;
}

LogPump::LogPump(EventLoop& loop, const Clock& clock, os::UniqueFd read_end, os::UniqueFd write_end,
                 logs::SegmentedLog log, PatternRedactor patterns, Callbacks callbacks)
    : loop_(loop),
      clock_(clock),
      read_end_(std::move(read_end)),
      write_end_(std::move(write_end)),
      log_(std::move(log)),
      patterns_(std::move(patterns)),
      to_patterns_([this](const char* data, size_t size) { patterns_.Add(data, size, to_log_); }),
      to_log_([this](const char* data, size_t size) { Keep(data, size); }),
      callbacks_(std::move(callbacks)),
      buffer_(std::make_unique_for_overwrite<char[]>(kReadBytes)) {}

void LogPump::Watch() {
  watch_ = loop_.WatchReadable(read_end_.get(), [this] { OnReadable(); });
}

// A pause is taken only with a large pipe, and only if little was read: a small pipe would fill
// meanwhile and make the program wait.
void LogPump::OnReadable() {
  if (callbacks_.before_read) callbacks_.before_read();
  size_t size = 0;
  int reads = 0;
  for (; reads < kReadsInARow; ++reads) {
    const ssize_t count = ReadOnce();
    if (count > 0) size += static_cast<size_t>(count);
    if (count < static_cast<ssize_t>(kReadBytes)) break;
  }
  if (over_) {
    watch_.reset();
    PassOnHeld();
  } else if (may_pause_ && size < kReadBytes) {
    watch_.reset();
    pause_ = loop_.After(kPause, [this] { Watch(); });
  }
}

// The number of bytes is read once, before the loop: a process that keeps writing must not keep
// this from returning.
void LogPump::ReadWaiting() {
  int waiting = 0;
  if (ioctl(read_end_.get(), FIONREAD, &waiting) != 0) waiting = 0;
  for (ssize_t left = waiting; left > 0;) {
    const ssize_t count = ReadOnce();
    if (count <= 0) break;
    left -= count;
  }
}

void LogPump::Drain() {
  ReadWaiting();
  PassOnHeld();
}

// The order matters: what the scanner releases still passes the patterns.
void LogPump::PassOnHeld() {
  scanner_.Flush(to_patterns_);
  patterns_.Flush(to_log_);
}

void LogPump::Finish() {
  Drain();
  log_.Finish();
}

ssize_t LogPump::ReadOnce() {
  ssize_t count;
  do {
    count = read(read_end_.get(), buffer_.get(), kReadBytes);
  } while (count < 0 && errno == EINTR);
  if (count == 0) over_ = true;
  if (count <= 0) return count;
  read_at_ = clock_.UnixMillis();
  scanner_.Add(buffer_.get(), static_cast<size_t>(count), to_patterns_);
  return count;
}

void LogPump::Keep(const char* data, size_t size) {
  callbacks_.observer(data, size);
  log_.Append(data, size, read_at_);
}

}  // namespace tony::executor
