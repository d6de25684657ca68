// Starts processes of one program fast: they are forked from a process that has already done the
// costly part of the start.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "os/files/unique_fd.h"
#include "os/processes/subprocess.h"

namespace tony::os {

/// Whether main() was called to be a fork server.
bool IsForkServer(int argc, char** argv);

/// The owner's side. The forks are children of the owner, not of the server: a Subprocess of this
/// class is like one of Subprocess::Start(). They outlive the server. Not thread safe.
class ForkServer {
 public:
  /// Starts "PROGRAM --fork-server FOR_WHOM", which must warm up and then call ServeForks(); `ps`
  /// shows `for_whom`. Does not wait for the warm-up. The codes of StartOwnProgram().
  static absl::StatusOr<std::unique_ptr<ForkServer>> Start(const std::string& program,
                                                           const std::string& for_whom);
  /// Ends the server, with SIGKILL if it does not exit by itself within a second.
  ~ForkServer();
  ForkServer(const ForkServer&) = delete;
  ForkServer& operator=(const ForkServer&) = delete;

  /// Forks another process of the program, with `request.arguments`, of which the first is only
  /// shown, and `request.environment`; both are required. NotFound, PermissionDenied – the working
  /// folder cannot be entered. InvalidArgument – a descriptor is not open, or there are more than
  /// five to inherit. ResourceExhausted – no memory for the request. Unavailable – the server is
  /// gone or cannot fork, and nothing was started. DeadlineExceeded – no answer within 10 s; the
  /// server is ended, and every later call returns Unavailable.
  absl::StatusOr<Subprocess> Fork(const SubprocessRequest& request);

  pid_t pid() const { return server_.pid(); }

 private:
  ForkServer(UniqueFd socket, Subprocess server)
      : socket_(std::move(socket)), server_(std::move(server)) {}
  absl::StatusOr<Subprocess> Answer(const std::string& what, const std::string& working_folder);

  UniqueFd socket_;
  Subprocess server_;
};

/// The server's side. main() calls it with its own arguments in a process that ForkServer::Start()
/// has started, before any thread exists. It returns in each forked process, with the arguments
/// that were requested for that process (the program's name first). Standard output and error,
/// descriptors from 3 on, environment, folder and session are then as requested, and `ps` shows the
/// arguments. The server itself never returns: it exits when its owner is gone or has ended it.
std::vector<std::string> ServeForks(int argc, char** argv);

}  // namespace tony::os
