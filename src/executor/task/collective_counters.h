// What the program's ranks of tony.collective have counted, through files in a folder.
#pragma once

#include <optional>
#include <string>

#include "core/tasks/task_exit.h"

namespace tony::executor {

/// A folder in the container's own, for the next run of its program. It is not there until a rank
/// makes it, since most programs have none; empty where one of before cannot be removed, so that
/// nothing is counted.
std::string FreshCountersFolder(const std::string& working_folder);

/// The sums over all files of `folder`, one of each rank that has lived in it: "NAME NUMBER" line
/// by line, with the names of core::CollectiveUsage; lines with others are not for us. The program
/// may write what it likes there, so what is no number counts as 0, and no more than some kilobytes
/// of some files are read. Nothing: there is no file.
std::optional<core::CollectiveUsage> ReadCollectiveCounters(const std::string& folder);

}  // namespace tony::executor
