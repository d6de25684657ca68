// A temporary folder for copies of logs, which nobody has to remove.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "os/files/unique_fd.h"

namespace tony::client {

/// Goes away with this object; when the process is killed, with the next one that is made. Not
/// thread safe.
class LogFolder {
 public:
  /// "PARENT/tony-logs-XXXXXX", for nobody else to read. PermissionDenied – somebody else could
  /// replace it there (os::CheckFolder()); errno codes.
  static absl::StatusOr<std::unique_ptr<LogFolder>> Make(const std::string& parent);
  ~LogFolder();
  LogFolder(const LogFolder&) = delete;
  LogFolder& operator=(const LogFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  LogFolder(std::string path, os::UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  const std::string path_;
  os::UniqueFd lock_;  ///< tells others that the folder is in use
};

}  // namespace tony::client
