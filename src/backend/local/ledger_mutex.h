// The lock that makes an operation on a ledger appear to be one step.
#pragma once

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "os/files/folder_handle.h"
#include "os/files/unique_fd.h"

namespace tony::backend {

/// Holds a lock (flock) on a ledger's folder. It needs no more than the right to read the folder,
/// which all users of a shared ledger have. Not thread safe.
class LedgerMutex {
 public:
  /// Waits until no other process holds the lock, for at most `limit`. DeadlineExceeded – one still
  /// does; the message names the process and its user. Errno codes.
  static absl::StatusOr<LedgerMutex> Lock(const os::FolderHandle& folder, Duration limit);
  LedgerMutex(LedgerMutex&&) = default;
  ~LedgerMutex();

 private:
  explicit LedgerMutex(os::UniqueFd fd) : fd_(std::move(fd)) {}

  os::UniqueFd fd_;
};

}  // namespace tony::backend
