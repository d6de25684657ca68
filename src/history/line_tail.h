// Reads the lines of a growing file as they are completed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

namespace tony::history {

/// Remembers how far a file was read. A file that was replaced or cut short (rotated) is read from
/// its start again. Keeps no descriptor open between calls. Not thread safe.
class LineTail {
 public:
  using Use = std::function<void(const std::string& line)>;

  explicit LineTail(std::string path) : path_(std::move(path)) {}

  /// Passes over all but the last `lines` lines that are there now. To be called before the first
  /// Read().
  void SkipToLast(int64_t lines);
  /// Calls `use` for each line that was completed since the last call, without its '\n'. A file
  /// that is not there (yet) has no lines. A line longer than 64 KiB comes in pieces.
  void Read(const Use& use);
  /// Read(), and then what is left of an incomplete last line.
  void Finish(const Use& use);

 private:
  std::string path_;
  int64_t offset_ = 0;   // of the first byte that was not read
  ino_t inode_ = 0;      // of the file that offset_ belongs to; 0: none yet
  std::string partial_;  // bytes before offset_ that belong to an incomplete line
};

}  // namespace tony::history
