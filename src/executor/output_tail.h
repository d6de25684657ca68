// The last lines of a program's output, for the message about its failure.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace tony::executor {

/// Keeps the newest `max_lines` lines, each cut to its last kMaxLineBytes. Not thread safe.
class OutputTail {
 public:
  static constexpr size_t kMaxLineBytes = 4096;

  explicit OutputTail(size_t max_lines) : max_lines_(max_lines) {}

  /// More bytes of one stream. Streams are told apart, so that their lines do not mix.
  void Add(int stream, const char* data, size_t size);
  /// Oldest first; unfinished lines stand at the end.
  std::vector<std::string> Lines() const;

 private:
  void Push(std::string line);

  size_t max_lines_;
  std::deque<std::string> lines_;
  std::string unfinished_[2];
};

}  // namespace tony::executor
