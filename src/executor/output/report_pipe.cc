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
constexpr size_t kMostParsed = 16384;
constexpr std::chrono::milliseconds kPause{20};
/// A process that the program has left behind may go on writing.
constexpr int kMostLastReads = 16;

}  // namespace

absl::StatusOr<std::unique_ptr<ReportPipe>> ReportPipe::Open(EventLoop& loop,
                                                             const std::string& path,
                                                             ProgramReports& reports) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return os::ErrnoError(errno, path);
  if (mkfifo(path.c_str(), kMode) != 0 || chmod(path.c_str(), kMode) != 0) {
    return os::ErrnoError(errno, path);
  }
  os::UniqueFd pipe(open(path.c_str(), O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!pipe.valid()) return os::ErrnoError(errno, path);
  std::unique_ptr<ReportPipe> report(new ReportPipe(loop, path, std::move(pipe), reports));
  report->Watch();
  return report;
}

ReportPipe::~ReportPipe() { (void)unlink(path_.c_str()); }

void ReportPipe::Watch() {
  watch_ = loop_.WatchReadable(pipe_.get(), [this] {
    Read(kMostParsed);
    watch_ = loop_.After(kPause, [this] { Watch(); });
  });
}

// The bytes that are left out may end within a line, whose rest is then no line.
size_t ReportPipe::Read(size_t most) {
  std::array<char, kMostBytes> bytes;
  const ssize_t size = read(pipe_.get(), bytes.data(), bytes.size());
  if (size <= 0) return 0;
  const size_t count = static_cast<size_t>(size);
  const size_t left_out = count > most ? count - most : 0;
  if (left_out > 0) reports_.SkipLine();
  reports_.AddBytes(bytes.data() + left_out, count - left_out);
  return count;
}

void ReportPipe::Finish() {
  for (int reads = 0; reads < kMostLastReads && Read(kMostBytes) > 0; ++reads) {
  }
}

}  // namespace tony::executor
