// What may be left of a container whose keeper was killed, and its end.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

namespace tony::os {

/// Ends every process of the container, with SIGKILL, and removes its control groups; for those who
/// outlive the keeper: its owner, or whoever started that one. Found are the processes in the
/// groups and those that carry the container's id, with all below them; spared are the caller and
/// those above it. `dying`: children of the caller that die with the keeper and are only to be
/// reaped. Takes a few milliseconds when nothing is left, at most two seconds. Returns how many
/// processes could not be ended.
int EndContainer(const std::string& container_id, std::set<pid_t> dying = {});

}  // namespace tony::os
