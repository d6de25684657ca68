// Folders that several processes of a host want at once and one of them fills.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "os/files/files.h"

namespace tony::os {

/// Returns `cache_folder`/`key`, filled by exactly one caller on this host: the holder of the lock
/// file "`key`.lock" calls `fill` with an empty folder "`key`.filling", which takes its final name
/// only when `fill` has succeeded; the others wait. A caller that dies while filling frees the
/// lock, and the next one starts afresh. Callers may be threads or processes. `wait_limit` bounds
/// the waiting for another caller, not one's own `fill`. `durability`: kSynced flushes the file
/// system before the folder takes its name, so that it is whole even after a power cut (tens of
/// milliseconds and more); kCached is enough for folders that nobody uses after a reboot.
///
/// InvalidArgument – `key` is not made of letters, digits, "_", "-" and ".", or begins with ".";
/// DeadlineExceeded – another caller did not finish in time (the message has its process id, if
/// known); `fill`'s own error; errno codes.
absl::StatusOr<std::string> UnpackOnce(
    const std::string& cache_folder, const std::string& key, Duration wait_limit,
    const std::function<absl::Status(const std::string& folder)>& fill,
    Durability durability = Durability::kSynced);

}  // namespace tony::os
