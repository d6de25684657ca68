// Bounds the size of a log that a process writes through its standard descriptors.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

namespace tony::logs {

inline constexpr int64_t kOwnLogSegmentBytes = int64_t{16} << 20;

/// Switches `fd`, open for appending to a segment of a log (logs/log_segments.h), to the next
/// segment once the file has `segment_bytes` or more. Of the other segments only the first and the
/// one that was full stay. `twin` is switched too if it is open on the same file. Other processes
/// that write to that file go on doing so. A descriptor that is not on a log file, such as a
/// terminal, is left as it is.
/// Errno codes – the next segment cannot be opened, and nothing has changed.
absl::Status BoundLog(int fd, int twin, int64_t segment_bytes = kOwnLogSegmentBytes);

}  // namespace tony::logs
