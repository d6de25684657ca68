// Splitting of output into lines.
#include "executor/output_tail.h"

#include <cstring>

namespace tony::executor {

void OutputTail::Add(int stream, const char* data, size_t size) {
  std::string& unfinished = unfinished_[stream];
  while (size > 0) {
    const char* newline = static_cast<const char*>(std::memchr(data, '\n', size));
    const size_t length = newline == nullptr ? size : static_cast<size_t>(newline - data);
    unfinished.append(data, length);
    if (unfinished.size() > kMaxLineBytes) {
      unfinished.erase(0, unfinished.size() - kMaxLineBytes);
    }
    if (newline == nullptr) return;
    Push(std::move(unfinished));
    unfinished.clear();
    data += length + 1;
    size -= length + 1;
  }
}

void OutputTail::Push(std::string line) {
  lines_.push_back(std::move(line));
  if (lines_.size() > max_lines_) lines_.pop_front();
}

std::vector<std::string> OutputTail::Lines() const {
  std::vector<std::string> result(lines_.begin(), lines_.end());
  for (const std::string& line : unfinished_) {
    if (!line.empty()) result.push_back(line);
  }
  if (result.size() > max_lines_) {
    result.erase(result.begin(), result.end() - static_cast<std::ptrdiff_t>(max_lines_));
  }
  return result;
}

}  // namespace tony::executor
