// Ends the processes that may be left of a container whose keeper was killed.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>

namespace tony::os {

/// Facts that the caller knows about the processes below it. A plain value.
struct ProcessesBelow {
  /// The caller's own children, which are spared with all their descendants. Set it only if the
  /// caller knows all of its children and is a subreaper: then every other process below the caller
  /// came there because a keeper was killed, and is killed whatever it has made of its session and
  /// its environment. Nothing: processes below the caller may be anybody's.
  std::optional<std::set<pid_t>> own;
  /// Children that die with the keeper and only need to be reaped.
  std::set<pid_t> dying;
};

/// Kills every process of the container with SIGKILL and removes the container's control groups.
/// For a process that outlives the keeper: the keeper's owner, or the starter of that owner. Killed
/// are the members of the groups, the processes that carry the container's id with all their
/// descendants, and the processes that `below` tells about. The caller and its ancestors are
/// spared. Takes a few milliseconds when nothing is left, at most two seconds. Returns the number
/// of processes that could not be killed.
int EndContainer(const std::string& container_id, ProcessesBelow below = {});

}  // namespace tony::os
