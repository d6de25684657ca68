// A pidfd names one process for as long as it is open, even if its number is used again.
#include "os/processes/process_handle.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "os/files/files.h"
#include "os/files/wait_readable.h"

namespace tony::os {

absl::StatusOr<ProcessHandle> ProcessHandle::Open(pid_t pid) {
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (pidfd.valid()) return ProcessHandle(pid, std::move(pidfd));
  if (errno == ESRCH) return absl::NotFoundError(absl::StrCat("there is no process ", pid));
  return ErrnoError(errno, absl::StrCat("process ", pid));
}

bool ProcessHandle::ended() const { return WaitReadable(pidfd_.get(), Duration::zero()); }

void ProcessHandle::Signal(int number) const {
  ::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0);
}

}  // namespace tony::os
