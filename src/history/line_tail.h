// Reads the lines of a growing history as they are completed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace tony::history {

/// Remembers where the first line begins that is not complete yet. A file that was replaced, or cut
/// to less than that, is read from its start again. Keeps neither a descriptor nor bytes between
/// calls. Not thread safe.
class LineTail {
 public:
  using Use = std::function<void(const std::string& line)>;
  /// An event has a task's last lines at most, some hundred KiB with everything escaped.
  static constexpr size_t kMostLine = size_t{8} << 20;

  explicit LineTail(std::string path) : path_(std::move(path)) {}

  /// Calls `use` for each line that was completed since the last call, without its '\n'. A missing
  /// file, and what is no plain file, has no lines. A line longer than kMostLine comes in pieces.
  void Read(const Use& use);

 private:
  std::string path_;
  int64_t offset_ = 0;  ///< where the first incomplete line begins
  ino_t inode_ = 0;     ///< inode of the file that offset_ belongs to; 0: none yet
};

}  // namespace tony::history
