// The folder with the sockets of a task's endpoint for data.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tony::executor {

/// A folder of mode 0700 that is removed in the end, if it is empty then. Not thread safe.
class SocketFolder {
 public:
  SocketFolder() = default;
  ~SocketFolder();
  SocketFolder(const SocketFolder&) = delete;
  SocketFolder& operator=(const SocketFolder&) = delete;

  /// Makes the folder in `working_folder`; or under /tmp, since a Unix socket's path has at most
  /// 107 bytes, which a container's working folder often exceeds. There it first removes the
  /// folders of executors of this user that were killed. Errno codes.
  absl::Status Make(const std::string& working_folder);
  /// Empty before Make().
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Removes the folder `path` if an endpoint of this user has left it: if it belongs to this user,
/// is of mode 0700 and more than a minute old, and nobody listens on the sockets in it. Otherwise
/// it does nothing. The age keeps it from an endpoint that is about to listen.
void RemoveLeftSocketFolder(const std::string& path);

}  // namespace tony::executor
