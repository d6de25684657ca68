// Where in a container logs and shared files go.
#pragma once

#include <string>
#include <vector>

#include "tony/v1/application_master.pb.h"

namespace tony::executor {

/// The value of `name` among "NAME=value"; empty where it is not there.
std::string Variable(const std::vector<std::string>& environment, const std::string& name);

/// Beginning of the paths of an attempt's logs: "FOLDER/attempt-2/" in the assignment's folder. An
/// assignment without one means LogFolder(), in which YARN's NodeManager collects files but no
/// folders: "FOLDER/attempt-2." there (logs/container_logs.h).
std::string LogPrefix(const v1::Assignment& assignment, int attempt,
                      const std::vector<std::string>& environment,
                      const std::string& working_folder);

/// The container's own log folder: os::kLogFolderVariable; without that, the
/// working folder.
std::string LogFolder(const std::vector<std::string>& environment,
                      const std::string& working_folder);

/// The folder that all of the job's containers on this host share: the assignment's, or one in the
/// first of LOCAL_DIRS, which a NodeManager makes for an application; without that, the container's
/// own.
std::string CacheFolder(const v1::Assignment& assignment,
                        const std::vector<std::string>& environment,
                        const std::string& working_folder);

}  // namespace tony::executor
