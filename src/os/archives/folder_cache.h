// Folders that several processes of a host need at once and that one of them fills.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "os/files/files.h"

namespace tony::os {

/// Returns `cache_folder`/`key`, filled by exactly one caller on this host. The holder of the lock
/// file "`key`.lock" calls `fill` with an empty folder "`key`.filling", which gets its final name
/// only when `fill` has succeeded; the other callers wait. A caller that dies while filling frees
/// the lock, and the next one starts afresh. Callers may be threads or processes. `wait_limit`
/// bounds the wait for another caller, not the caller's own `fill`. `durability`: kSynced flushes
/// the file system before the folder gets its name, so that it is complete even after a power cut
/// (tens of milliseconds and more); kCached is enough for folders that nobody uses after a reboot.
///
/// InvalidArgument – `key` is not made of letters, digits, "_", "-" and ".", or begins with ".".
/// DeadlineExceeded – another caller did not finish in time (the message has its process id, if
/// known). The error of `fill`. Errno codes.
absl::StatusOr<std::string> UnpackOnce(
    const std::string& cache_folder, const std::string& key, Duration wait_limit,
    const std::function<absl::Status(const std::string& folder)>& fill,
    Durability durability = Durability::kSynced);

}  // namespace tony::os
