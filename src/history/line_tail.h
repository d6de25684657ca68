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

  /// Skips all but the last `lines` lines that exist now. To be called before the first Read().
  void SkipToLast(int64_t lines);
  /// Calls `use` for each line that was completed since the last call, without its '\n'. A missing
  /// file has no lines. A line longer than 64 KiB comes in pieces.
  void Read(const Use& use);
  /// Calls Read(), and then `use` with an incomplete last line, if there is one.
  void Finish(const Use& use);

 private:
  std::string path_;
  int64_t offset_ = 0;   // offset of the first byte that was not read
  ino_t inode_ = 0;      // inode of the file that offset_ belongs to; 0: none yet
  std::string partial_;  // bytes before offset_ that belong to an incomplete line
};

}  // namespace tony::history
