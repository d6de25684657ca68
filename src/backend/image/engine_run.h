// The command by which an engine runs an executor in a container of an image.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "backend/image/engine.h"
#include "backend/image/image_runtime.h"
#include "jobfile/job/image_settings.h"

namespace tony::backend {

/// One container. A plain value.
struct EngineRun {
  std::string container_id;
  std::string image;
  std::string job_folder;      ///< mounted at its own path, writable
  std::string working_folder;  ///< in job_folder
  ImageRuntime runtime;        ///< mounted at its own path
  std::vector<jobfile::ImageMount> mounts;
  std::vector<std::string> writable_folders;  ///< mounted at their own paths
  std::vector<int> gpus;                      ///< indices of the granted devices
  bool rdma = false;                          ///< the adapters for RDMA are in the container, too
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> more_groups;  ///< of the user
  size_t descriptors = 0;          ///< number of them from 3 on that are for the executor, too
  std::string monitor_file;   ///< where podman writes the process id of the container's monitor
  std::string executor_file;  ///< and that of the executor, as this machine sees it
  std::vector<std::string> arguments;  ///< of tony-executor, without its name
};

/// Limits of this process that the container's are set to, because an engine's own defaults may
/// exceed what it may set. "--ulimit=nofile=1024:4096", …
std::vector<std::string> LimitArguments();

/// The complete command. It stays in the foreground, and its exit status is the executor's, or 125
/// if the engine fails, or 126 or 127 if it cannot start the executor.
///
/// 1. The network is the machine's, so ports, addresses and the loopback are as without an image,
///    and so are System V's and POSIX's shared memory, which data loaders and NCCL need.
/// 2. The process namespace is the container's own: its first process is the executor, with which
///    the kernel ends all others.
/// 3. The user is the job's, whatever the image says, because the files are the user's.
/// 4. The engine keeps no log: the executor writes the output itself.
std::vector<std::string> RunCommand(const Engine& engine, const EngineRun& run);

/// Whether `path` can be the source of a mount: it has none of the characters that the engines'
/// notation gives a meaning.
bool IsMountable(const std::string& path);

}  // namespace tony::backend
