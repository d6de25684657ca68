#include "client/workflow/parent_watch.h"

#include <unistd.h>

#include <utility>

namespace tony::client {

ParentWatch::ParentWatch() {
  const pid_t parent = getppid();
  if (parent <= 1) return;
  absl::StatusOr<os::ProcessHandle> handle = os::ProcessHandle::Open(parent);
  // A parent that has ended meanwhile has left its number to somebody else at the most.
  if (handle.ok() && getppid() == parent) parent_ = *std::move(handle);
}

}  // namespace tony::client
