// The last lines of a program's output, for the message about its failure.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace tony::executor {

/// Keeps the newest `max_lines` lines, each cut to its last kMaxLineBytes. Older lines are kept
/// too, up to kMaxTracebackLines and kMaxTracebackBytes, so that a Python traceback is complete.
/// Not thread safe.
class OutputTail {
 public:
  static constexpr size_t kMaxLineBytes = 4096;
  static constexpr size_t kMaxTracebackLines = 200;        ///< including the `max_lines`
  static constexpr size_t kMaxTracebackBytes = 64 * 1024;  ///< not including them

  /// `max_lines` = 0 keeps nothing at all.
  explicit OutputTail(size_t max_lines);

  /// Adds bytes of one stream. The streams are kept apart, so that their lines do not mix.
  void Add(int stream, const char* data, size_t size);
  /// Returns the newest `max_lines` lines, or the lines since the last traceback began if these are
  /// more. The stacks of a Python that a signal killed come with `max_lines` lines before them.
  /// Oldest first; unfinished lines stand at the end.
  std::vector<std::string> Lines() const;

 private:
  struct Line {
    int stream;
    std::string text;
  };

  void Push(Line line);

  size_t max_lines_;
  size_t keep_lines_;
  std::deque<Line> lines_;
  size_t older_bytes_ = 0;  ///< bytes of all but the newest max_lines_
  std::string unfinished_[2];
};

}  // namespace tony::executor
