// The end of a log, for messages.
#pragma once

#include <cstddef>
#include <string>

namespace tony::logs {

/// The last `count` lines of a file that are not empty, without the last line's end; of a long file
/// only its last 16 KiB are looked at. Why it cannot be read, where it cannot.
std::string LastLines(const std::string& path, size_t count);

}  // namespace tony::logs
