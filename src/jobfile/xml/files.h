// The only place where a configuration meets the file system.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tony::jobfile {

/// OK when `path` is a file or folder that this process may read.
/// NotFound – nothing is there; PermissionDenied – it may not be read; FailedPrecondition – a
/// device, socket or pipe. The message is a half sentence that goes behind the path, such as "does
/// not exist".
absl::Status CheckReadable(const std::string& path);

/// The whole content of a regular file of at most `limit_bytes`.
/// As CheckReadable(), and FailedPrecondition – a folder; ResourceExhausted – larger than the
/// limit.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t limit_bytes);

}  // namespace tony::jobfile
