// What may be left of a container whose keeper was killed, and its end.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>

namespace tony::os {

/// What the caller knows of the processes below it. A plain value.
struct ProcessesBelow {
  /// Its own children, which are spared with all below them, where it knows them all and is a
  /// subreaper: whatever else is below it came there because a keeper was killed, and is ended,
  /// whatever it has made of its session and its environment. Nothing: it may be anybody's.
  std::optional<std::set<pid_t>> own;
  /// Children that die with the keeper and are only to be reaped.
  std::set<pid_t> dying;
};

/// Ends every process of the container, with SIGKILL, and removes its control groups; for those who
/// outlive the keeper: its owner, or whoever started that one. Found are the processes in the
/// groups, those that carry the container's id, with all below them, and what `below` tells; spared
/// are the caller and those above it. Takes a few milliseconds when nothing is left, at most two
/// seconds. Returns how many processes could not be ended.
int EndContainer(const std::string& container_id, ProcessesBelow below = {});

}  // namespace tony::os
