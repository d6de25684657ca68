#include "client/follow/parent_watch.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace tony::client {

ParentWatch::ParentWatch() {
  const pid_t parent = getppid();
  if (parent > 1) *this = ParentWatch(parent);
}

ParentWatch::ParentWatch(pid_t pid) {
  absl::StatusOr<os::ProcessHandle> handle = os::ProcessHandle::Open(pid);
  if (handle.ok() && getppid() == pid) {
    parent_ = *std::move(handle);
  } else {
    gone_ = os::UniqueFd(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
  }
}

}  // namespace tony::client
