// Keeps a log that a process writes through its standard descriptors from growing for ever.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

namespace tony::logs {

inline constexpr int64_t kOwnLogSegmentBytes = int64_t{16} << 20;

/// When `fd`, open for appending to a log's segment (logs/log_segments.h), has got `segment_bytes`
/// or more, goes on in the next segment; of the others only the first one and the one that was full
/// stay. `twin` goes on there too if it is open on the same file. Other processes that write to
/// that file go on doing so. What is no log file, a terminal say, is left as it is.
/// Errno codes – the next segment cannot be opened, and nothing has changed.
absl::Status BoundLog(int fd, int twin, int64_t segment_bytes = kOwnLogSegmentBytes);

}  // namespace tony::logs
