// O_NONBLOCK belongs to the open file, which the shell and other programs share. So a terminal or a
// pipe is opened a second time, and only that one is set to non-blocking.
#include "os/files/stoppable_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files/files.h"

namespace tony::os {
namespace {

/// The most that is written at a time where write() may block: a pipe that is ready takes this much
/// at once.
constexpr size_t kBlockingBytes = 4096;

/// Also for a terminal that was hung up, unlike isatty().
bool IsTerminalDevice(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 && S_ISCHR(status.st_mode);
}

bool IsPipe(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

}  // namespace

StoppableWriter::StoppableWriter(int fd, int stop_fd) : fd_(fd), stop_fd_(stop_fd) {
  if (!IsTerminalDevice(fd) && !IsPipe(fd)) return;
  // Fails for another user's terminal (after `su`), which then is written to in small pieces.
  own_.Reset(open(absl::StrCat("/proc/self/fd/", fd).c_str(),
                  O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (own_.valid()) fd_ = own_.get();
}

absl::Status StoppableWriter::Await() const {
  while (true) {
    pollfd watched[] = {{.fd = fd_, .events = POLLOUT}, {.fd = stop_fd_, .events = POLLIN}};
    const int ready = poll(watched, 2, -1);
    if (ready < 0 && errno != EINTR) return ErrnoError(errno, "cannot wait for the output");
    if (ready < 0) continue;
    if (watched[1].revents != 0) return absl::CancelledError("the output was stopped");
    return absl::OkStatus();
  }
}

absl::Status StoppableWriter::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    TONY_RETURN_IF_ERROR(Await());
    const size_t most = own_.valid() ? bytes.size() : std::min(bytes.size(), kBlockingBytes);
    const ssize_t count = ::write(fd_, bytes.data(), most);
    if (count > 0) bytes.remove_prefix(static_cast<size_t>(count));
    if (count >= 0 || errno == EINTR || errno == EAGAIN) continue;
    const int error = errno;
    if (error == EPIPE) return absl::FailedPreconditionError("the reader of the output is gone");
    if (error == EIO && IsTerminalDevice(fd_))
      return absl::CancelledError("the terminal was hung up");
    return ErrnoError(error, "cannot write the output");
  }
  return absl::OkStatus();
}

}  // namespace tony::os
