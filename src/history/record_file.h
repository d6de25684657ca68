// Opens the files of a job's folder so that none of them can stop or lead astray the reader.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "os/files/unique_fd.h"

namespace tony::history {

/// Opens the plain file `path` for reading. NotFound – there is none. FailedPrecondition – it is a
/// pipe, a device or a folder. Errno codes; ELOOP's for a symbolic link. Thread safe.
absl::StatusOr<os::UniqueFd> OpenRecordFile(const std::string& path);

/// The bytes of the plain file `path`. OutOfRange – there are more than `most`. The codes of
/// OpenRecordFile(). Thread safe.
absl::StatusOr<std::string> ReadRecordFile(const std::string& path, size_t most);

}  // namespace tony::history
