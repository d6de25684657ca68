// Tells when files in folders change, through inotify.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/files/unique_fd.h"

namespace tony::os {

/// Watches folders, not what is below their sub-folders. Not thread safe.
class FolderWatcher {
 public:
  /// ResourceExhausted – this user has too many watchers; Unavailable – anything else.
  static absl::StatusOr<std::unique_ptr<FolderWatcher>> Create();

  /// Watches `folder`; a second time changes nothing. Files that were there before are not
  /// reported: look after this. NotFound – no such folder; ResourceExhausted – too many watches;
  /// Unavailable – anything else.
  absl::Status Watch(const std::string& folder);

  /// Waits until something was created, moved here, written to, or closed after writing, for at
  /// most `timeout` (negative: without limit). Returns the paths, each once; none at the time-out.
  /// When the kernel lost count, all watched folders are returned. Unavailable – the kernel's queue
  /// cannot be read.
  absl::StatusOr<std::vector<std::string>> Wait(std::chrono::milliseconds timeout);

  /// Readable when Wait() has something to return.
  int fd() const { return fd_.get(); }

 private:
  explicit FolderWatcher(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
  std::map<int, std::string> folders_;  // by watch descriptor
};

}  // namespace tony::os
