#include "executor/output/report_pipe.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

#include "os/files/files.h"

namespace tony::executor {
namespace {

constexpr mode_t kMode = 0600;
/// As much as Linux keeps in a pipe.
constexpr size_t kMostBytes = 65536;
/// A program that writes without end costs this process little: the pipe is read at most so often.
constexpr std::chrono::milliseconds kPause{20};

}  // namespace

absl::StatusOr<std::unique_ptr<ReportPipe>> ReportPipe::Open(EventLoop& loop,
                                                             const std::string& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return os::ErrnoError(errno, path);
  if (mkfifo(path.c_str(), kMode) != 0 || chmod(path.c_str(), kMode) != 0) {
    return os::ErrnoError(errno, path);
  }
  os::UniqueFd pipe(open(path.c_str(), O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!pipe.valid()) return os::ErrnoError(errno, path);
  std::unique_ptr<ReportPipe> report(new ReportPipe(loop, path, std::move(pipe)));
  report->Watch();
  return report;
}

ReportPipe::~ReportPipe() { (void)unlink(path_.c_str()); }

void ReportPipe::Watch() {
  watch_ = loop_.WatchReadable(pipe_.get(), [this] {
    Drain();
    watch_ = loop_.After(kPause, [this] { Watch(); });
  });
}

void ReportPipe::Drain() {
  std::array<char, kMostBytes> bytes;
  const ssize_t size = read(pipe_.get(), bytes.data(), bytes.size());
  if (size > 0) values_.Add(bytes.data(), static_cast<size_t>(size));
}

}  // namespace tony::executor
