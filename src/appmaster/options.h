// The options that tony-am receives from its command line and its environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::appmaster {

struct Options {
  std::string job_folder;  ///< absolute; its last part is the job's id
  bool detached = false;   ///< the job outlives the client
  bool leased = false;     ///< though detached, it ends when no owner follows it for long
  int restarts = 0;        ///< restart budget for a detached job's ApplicationMaster
  /// How the ApplicationMaster before this one ended ("was killed by signal 9 (SIGKILL)"); empty:
  /// none did, or nobody knows.
  std::string predecessor;
  /// A socket whose other end only the client holds. The ApplicationMaster writes a line to it once
  /// the address is published; the socket's end means that the client is gone. -1: no client waits.
  int client_fd = -1;

  /// Descriptors that hold locks as long as they are open: of the job's checkpoint folder, and of
  /// the step of a workflow that the job is.
  std::vector<int> lock_fds;

  /// The sockets of the job's page and of its program's page, bound already: the process that
  /// starts this one holds them, too, so the next ApplicationMaster has the same ports. Two or
  /// none.
  std::vector<int> page_fds;

  /// The end of the socket pair with an external launcher, which starts the job's executors; -1:
  /// the job runs on this machine.
  int launcher_fd = -1;
  /// The address of this machine at which these executors reach it.
  std::string launcher_host;

  /// The facts that a NodeManager tells the processes of its containers.
  struct Yarn {
    std::string token_file;      ///< HADOOP_TOKEN_FILE_LOCATION
    std::string node_host;       ///< NM_HOST
    std::string working_folder;  ///< absolute
    std::string container_id;    ///< of this container
    std::string node_http_port;  ///< NM_HTTP_PORT
    std::string log_folder;      ///< the folder with this process's own log
  };
  /// Set for an ApplicationMaster that YARN has started; replaces `job_folder`.
  std::optional<Yarn> yarn;
  bool look_up = false;  ///< only print the address of the job's ApplicationMaster

  /// Soft limit on open files for the users' programs (ulimit -n); 0: this process's own limit.
  uint64_t open_files = 0;

  std::string executor_path;             ///< path of tony-executor, beside this program
  std::vector<std::string> environment;  ///< of this process, "NAME=value"
  std::string user;                      ///< the user who runs the job

  std::string job_id() const { return job_folder.substr(job_folder.rfind('/') + 1); }
};

/// InvalidArgument – a flag is missing or unknown. Internal – the path of this program cannot be
/// found.
absl::StatusOr<Options> ParseOptions(int argc, char** argv);

}  // namespace tony::appmaster
