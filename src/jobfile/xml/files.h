// The file system access of src/jobfile: everything else there reaches files only through this one.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tony::jobfile {

/// Checks that `path` is a file or folder that this process may read. NotFound – nothing is there;
/// PermissionDenied – it may not be read; FailedPrecondition – it is a device, socket or pipe. The
/// message is a predicate to follow the path, such as "does not exist".
absl::Status CheckReadable(const std::string& path);

/// Reads a regular file of at most `limit_bytes`. The codes of CheckReadable(); FailedPrecondition
/// – it is a folder; ResourceExhausted – it is larger than the limit.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t limit_bytes);

}  // namespace tony::jobfile
