// Places the job's archives and files into the container's working folder.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "tony/v1/application_master.pb.h"

namespace tony::executor {

/// Unpacks the archives in order. A virtual environment is unpacked once for all containers of the
/// host, below `cache_folder`, and linked into the working folder; every container but the first
/// waits for it, at most `wait_limit`. Blocks; called on a thread of its own. Thread safe. The
/// codes of os::UnpackArchive, os::UnpackVirtualEnvironment and os::UnpackOnce; messages name the
/// archive.
absl::Status Localize(const std::vector<v1::Archive>& archives, const std::string& working_folder,
                      const std::string& cache_folder, Duration wait_limit,
                      const std::vector<std::string>& interpreter_folders);

}  // namespace tony::executor
