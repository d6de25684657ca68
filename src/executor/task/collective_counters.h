// Reads the counters that the program's ranks of tony.collective write into files of a folder.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/tasks/task_usage.h"

namespace tony::executor {

/// Returns a folder inside the container's own, for the next run of its program. The folder does
/// not exist until a rank creates it, because most programs have no ranks. Returns an empty string
/// if the folder of an earlier run cannot be removed; nothing is counted then.
std::string FreshCountersFolder(const std::string& working_folder);

/// Returns the sums over all files of `folder`. Each rank that has lived in it has one file, with
/// one "NAME NUMBER" per line and the names of core::CollectiveUsage; lines with other names are
/// skipped. The program may write anything there, so a value that is not a number counts as 0, and
/// only some kilobytes of a limited number of files are read. Returns nothing if there is no file.
std::optional<core::CollectiveUsage> ReadCollectiveCounters(const std::string& folder);

/// Returns the stall that one of the ranks reports in its file ("stalled rank 1 in …"), cut to
/// kMostStallBytes; empty: none does. It is the program's own text and may be anything but a line
/// break.
std::string ReadCollectiveStall(const std::string& folder);

inline constexpr size_t kMostStallBytes = 1024;

}  // namespace tony::executor
