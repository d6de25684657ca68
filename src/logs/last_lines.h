// The last lines of a log, for messages.
#pragma once

#include <cstddef>
#include <string>

namespace tony::logs {

/// The last `count` non-empty lines of a file, without the end of the last line. Only the last 16
/// KiB of a long file are read. If the file cannot be read, returns the reason instead.
std::string LastLines(const std::string& path, size_t count);

}  // namespace tony::logs
