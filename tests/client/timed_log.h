// Log files with times, as an executor writes them.
#pragma once

#include <cstdint>
#include <string>

#include "logs/log_segments.h"
#include "tests/client/job_folders.h"

namespace tony::client {

/// Appends `text` to segment `number` of the log `path` as read at `unix_millis`.
inline void AppendTimed(const std::string& path, const std::string& text, int64_t unix_millis,
                        int number = 1) {
  const std::string segment = logs::LogSegmentPath(path, number);
  std::error_code none;
  const auto size = std::filesystem::file_size(segment, none);
  const int64_t offset = none ? 0 : static_cast<int64_t>(size);
  AppendLog(logs::LogTimesPath(path, number), logs::EncodeLogTime({offset, unix_millis}));
  AppendLog(segment, text);
}

}  // namespace tony::client
