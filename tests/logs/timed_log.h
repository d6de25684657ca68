// Log files with times, as an executor writes them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "logs/log_segments.h"

namespace tony::logs {

/// Appends to a log, making its folders.
inline void AppendLog(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::app | std::ios::binary) << text;
}

/// Appends `text` to segment `number` of the log `path` as read at `unix_millis`.
inline void AppendTimed(const std::string& path, const std::string& text, int64_t unix_millis,
                        int number = 1) {
  const std::string segment = LogSegmentPath(path, number);
  std::error_code none;
  const auto size = std::filesystem::file_size(segment, none);
  const int64_t offset = none ? 0 : static_cast<int64_t>(size);
  AppendLog(LogTimesPath(path, number), EncodeLogTime({offset, unix_millis}));
  AppendLog(segment, text);
}

}  // namespace tony::logs
