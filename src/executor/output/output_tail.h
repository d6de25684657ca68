// The last lines of a program's output, for the message about its failure.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace tony::executor {

/// Keeps the newest `max_lines` lines, each cut to its last kMaxLineBytes; and, so that a Python
/// traceback is whole, what is older and not more than kMaxTracebackLines and kMaxTracebackBytes.
/// Not thread safe.
class OutputTail {
 public:
  static constexpr size_t kMaxLineBytes = 4096;
  static constexpr size_t kMaxTracebackLines = 200;        ///< with the `max_lines`
  static constexpr size_t kMaxTracebackBytes = 64 * 1024;  ///< without them

  /// 0 keeps nothing at all.
  explicit OutputTail(size_t max_lines);

  /// More bytes of one stream. Streams are told apart, so that their lines do not mix.
  void Add(int stream, const char* data, size_t size);
  /// The newest `max_lines` lines, or those since the last traceback began where these are more.
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
  size_t older_bytes_ = 0;  ///< of all but the newest max_lines_
  std::string unfinished_[2];
};

}  // namespace tony::executor
