// Which of the files that YARN has of a container are logs of tony's, and where such a copy lies.
#pragma once

#include <optional>
#include <string>

namespace tony::client {

/// Where the file `name` of a container of the task whose folder is called `task` belongs, below a
/// job's folder of logs: "worker-0/attempt-2/stdout.log" for "attempt-2.stdout.log", since nodes
/// have no folders there. Nothing: it is no log of tony's.
std::optional<std::string> TaskLogName(const std::string& task, const std::string& name);

/// The same of the ApplicationMaster's container: "am.log", and what follows it.
std::optional<std::string> MasterLogName(const std::string& name);

}  // namespace tony::client
