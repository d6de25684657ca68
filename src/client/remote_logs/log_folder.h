// A temporary folder for copies of logs, which nobody has to remove by hand.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "os/files/unique_fd.h"

namespace tony::client {

/// The folder is removed with this object. When the process was killed, the next Make() with the
/// same parent removes it. Not thread safe.
class LogFolder {
 public:
  /// Makes "PARENT/tony-logs-XXXXXX", readable only for the user. PermissionDenied – another user
  /// could replace the folder there (os::CheckFolder()); errno codes.
  static absl::StatusOr<std::unique_ptr<LogFolder>> Make(const std::string& parent);
  ~LogFolder();
  LogFolder(const LogFolder&) = delete;
  LogFolder& operator=(const LogFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  LogFolder(std::string path, os::UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  const std::string path_;
  os::UniqueFd lock_;  ///< tells other processes that the folder is in use
};

}  // namespace tony::client
