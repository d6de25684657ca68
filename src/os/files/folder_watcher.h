// Reports changes of files in folders, through inotify.
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

/// Watches folders, but not the contents of their sub-folders. Not thread safe.
class FolderWatcher {
 public:
  /// ResourceExhausted – this user has too many watchers. Unavailable – any other reason.
  static absl::StatusOr<std::unique_ptr<FolderWatcher>> Create();

  /// Watches `folder`; a second call changes nothing. Files that existed before are not reported,
  /// so look for them after this call. NotFound – no such folder. ResourceExhausted – too many
  /// watches. Unavailable – any other reason.
  absl::Status Watch(const std::string& folder);

  /// Waits until a file was created, moved here, written to, or closed after writing, for at most
  /// `timeout` (negative: without limit). Returns the paths, each once; none at the time-out. If
  /// the kernel's queue overflowed, returns all watched folders. Unavailable – the kernel's queue
  /// cannot be read. The wait also ends when `stop_fd` is readable (-1: none).
  absl::StatusOr<std::vector<std::string>> Wait(std::chrono::milliseconds timeout,
                                                int stop_fd = -1);

  /// Readable when Wait() has something to return.
  int fd() const { return fd_.get(); }

 private:
  explicit FolderWatcher(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
  std::map<int, std::string> folders_;  // key: watch descriptor
};

}  // namespace tony::os
