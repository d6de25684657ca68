// The folders of a container for logs and shared files.
#pragma once

#include <string>
#include <vector>

#include "tony/v1/application_master.pb.h"

namespace tony::executor {

/// The value of `name` among "NAME=value"; empty if there is none.
std::string Variable(const std::vector<std::string>& environment, const std::string& name);

/// The beginning of the paths of an attempt's logs: "FOLDER/attempt-2/" in the assignment's folder.
/// Without a folder in the assignment it is "FOLDER/attempt-2." in LogFolder(), because YARN's
/// NodeManager collects files but no folders there (logs/container_logs.h).
std::string LogPrefix(const v1::Assignment& assignment, int attempt,
                      const std::vector<std::string>& environment,
                      const std::string& working_folder);

/// The container's own log folder: the value of logs::kLogFolderVariable, otherwise the working
/// folder.
std::string LogFolder(const std::vector<std::string>& environment,
                      const std::string& working_folder);

/// The folder into which the processes of this attempt write their stacks when they are asked.
std::string StacksFolder(const v1::Assignment& assignment, int attempt,
                         const std::string& working_folder);

/// The pipe through which the program of this attempt reports values of itself.
std::string ReportPipePath(const v1::Assignment& assignment, int attempt,
                           const std::string& working_folder);

/// The folder that all of the job's containers on this host share: the assignment's, otherwise a
/// folder in the first of LOCAL_DIRS, which a NodeManager makes for an application, otherwise one
/// in the container's own folder.
std::string CacheFolder(const v1::Assignment& assignment,
                        const std::vector<std::string>& environment,
                        const std::string& working_folder);

}  // namespace tony::executor
