// The open descriptors of processes: how many, and which sockets are among them.
#pragma once

#include <sys/types.h>

#include <vector>

namespace tony::os {

/// What a set of processes has open. A plain value.
struct OpenFiles {
  int count = -1;  ///< descriptors of all of them together; -1: none of the processes may be read
  std::vector<unsigned long> sockets;  ///< inodes, sorted, each once
};

/// Reads /proc/PID/fd: a microsecond or two for each descriptor. A process that has gone, or whose
/// descriptors this one may not see, adds nothing.
OpenFiles FindOpenFiles(const std::vector<pid_t>& processes);

}  // namespace tony::os
