// What tony-am is told on its command line by the client that starts it.
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
  int restarts = 0;        ///< of a detached job's ApplicationMaster, should it be killed
  /// A socket whose other end the client alone holds: a line is written here once the address is
  /// published, and it ends with the client. -1: nobody waits.
  int client_fd = -1;

  /// What a NodeManager tells the processes of its containers.
  struct Yarn {
    std::string token_file;      ///< HADOOP_TOKEN_FILE_LOCATION
    std::string node_host;       ///< NM_HOST
    std::string working_folder;  ///< absolute
    std::string container_id;    ///< of this one
    std::string node_http_port;  ///< NM_HTTP_PORT
    std::string log_folder;      ///< which has its own log
  };
  std::optional<Yarn> yarn;  ///< of one that YARN has started, in place of `job_folder`
  bool look_up = false;      ///< only prints where the job's ApplicationMaster is

  /// The soft limit on open files that the users' programs get (ulimit -n); 0: this process's own.
  uint64_t open_files = 0;

  std::string executor_path;             ///< beside this program
  std::vector<std::string> environment;  ///< of this process, "NAME=value"
  std::string user;                      ///< who runs the job

  std::string job_id() const { return job_folder.substr(job_folder.rfind('/') + 1); }
};

/// InvalidArgument – a flag is missing or unknown; Internal – this program's own place cannot be
/// found.
absl::StatusOr<Options> ParseOptions(int argc, char** argv);

}  // namespace tony::appmaster
