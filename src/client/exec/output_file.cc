// O_NONBLOCK belongs to the open file, which this program shares with the shell that started it. So
// a pipe or a terminal is opened again through /proc. Where that does not work, pieces are as small
// as a pipe that is ready takes without blocking.
#include "client/exec/output_file.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tony::client {
namespace {

constexpr size_t kManyBytes = size_t{64} * 1024;

bool IsPipeOrTerminal(int fd) {
  struct stat info;
  return ::fstat(fd, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode));
}

}  // namespace

OutputFile::OutputFile(EventLoop& loop, int fd) : loop_(loop), fd_(fd), most_bytes_(kManyBytes) {
  struct stat info;
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) return;
  if (IsPipeOrTerminal(fd)) {
    own_.Reset(::open(absl::StrCat("/proc/self/fd/", fd).c_str(),
                      O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  }
  if (own_.valid()) {
    fd_ = own_.get();
  } else {
    most_bytes_ = PIPE_BUF;
  }
}

void OutputFile::Write(std::string bytes, OnWritten on_written) {
  bytes_ = std::move(bytes);
  written_ = 0;
  on_written_ = std::move(on_written);
  if (own_.valid() || most_bytes_ == kManyBytes) return WriteMore();
  watch_ = loop_.WatchWritable(fd_, [this] { WriteMore(); });
}

void OutputFile::WriteMore() {
  while (written_ < bytes_.size()) {
    const size_t size = std::min(bytes_.size() - written_, most_bytes_);
    const ssize_t count = ::write(fd_, bytes_.data() + written_, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      if (watch_ == nullptr) watch_ = loop_.WatchWritable(fd_, [this] { WriteMore(); });
      return;
    }
    if (count < 0) {
      const std::string why = absl::StrCat("cannot write the output: ", std::strerror(errno));
      const absl::Status status =
          errno == ENOSPC ? absl::ResourceExhaustedError(why) : absl::UnavailableError(why);
      watch_.reset();
      return std::exchange(on_written_, nullptr)(status);
    }
    written_ += static_cast<size_t>(count);
    // A file that may block is asked again whether it is ready.
    if (most_bytes_ == PIPE_BUF && written_ < bytes_.size()) return;
  }
  watch_.reset();
  std::exchange(on_written_, nullptr)(absl::OkStatus());
}

}  // namespace tony::client
