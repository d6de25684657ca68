// A queue of complete lines, with one unfinished line per stream. More lines are kept than are
// asked for, because a Python traceback may begin earlier.
#include "executor/output/output_tail.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/judge/python_traceback.h"

namespace tony::executor {
namespace {

/// Returns the beginning of the last `lines` complete lines; `data` if there are no more than that.
const char* StartOfLastLines(const char* data, size_t size, size_t lines) {
  const char* end = data + size;
  for (size_t seen = 0; seen <= lines; ++seen) {
    end = static_cast<const char*>(memrchr(data, '\n', static_cast<size_t>(end - data)));
    if (end == nullptr) return data;
  }
  return end + 1;
}

}  // namespace

OutputTail::OutputTail(size_t max_lines)
    : max_lines_(max_lines),
      keep_lines_(max_lines == 0 ? 0 : std::max(max_lines, kMaxTracebackLines)) {}

void OutputTail::Add(int stream, const char* data, size_t size) {
  std::string& unfinished = unfinished_[stream];
  // Only the last of many lines can matter, so the others are skipped without being copied.
  const char* last_lines = StartOfLastLines(data, size, keep_lines_);
  if (last_lines > data) {
    unfinished.clear();
    size -= static_cast<size_t>(last_lines - data);
    data = last_lines;
  }
  while (size > 0) {
    const char* newline = static_cast<const char*>(std::memchr(data, '\n', size));
    const size_t length = newline == nullptr ? size : static_cast<size_t>(newline - data);
    unfinished.append(data, length);
    if (unfinished.size() > kMaxLineBytes) {
      unfinished.erase(0, unfinished.size() - kMaxLineBytes);
    }
    if (newline == nullptr) return;
    Push({stream, std::exchange(unfinished, {})});
    data += length + 1;
    size -= length + 1;
  }
}

// Lines beyond the newest `max_lines_` are kept for a traceback only, so they alone have a bound of
// bytes.
void OutputTail::Push(Line line) {
  lines_.push_back(std::move(line));
  if (lines_.size() > max_lines_)
    older_bytes_ += lines_[lines_.size() - max_lines_ - 1].text.size();
  while (lines_.size() > max_lines_ &&
         (lines_.size() > keep_lines_ || older_bytes_ > kMaxTracebackBytes)) {
    older_bytes_ -= lines_.front().text.size();
    lines_.pop_front();
  }
}

std::vector<std::string> OutputTail::Lines() const {
  std::vector<Line> lines(lines_.begin(), lines_.end());
  for (int stream = 0; stream < 2; ++stream) {
    if (!unfinished_[stream].empty()) lines.push_back({stream, unfinished_[stream]});
  }
  size_t begin = lines.size() - std::min(lines.size(), max_lines_);
  // Lines of one stream may stand between the lines of a traceback in the other, so each stream is
  // searched by itself.
  for (int stream = 0; stream < 2 && max_lines_ > 0; ++stream) {
    std::vector<std::string> texts;
    std::vector<size_t> numbers;
    for (size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].stream != stream) continue;
      texts.push_back(lines[i].text);
      numbers.push_back(i);
    }
    const auto traceback = core::LastPythonTraceback(texts);
    if (traceback) begin = std::min(begin, numbers[traceback->first]);
    // The reason for an abort, such as a broken connection, stands before the stacks.
    const auto fatal = core::FatalPythonError(texts);
    if (fatal) begin = std::min(begin, numbers[*fatal] - std::min(numbers[*fatal], max_lines_));
  }
  std::vector<std::string> result;
  for (size_t i = begin; i < lines.size(); ++i) result.push_back(std::move(lines[i].text));
  return result;
}

}  // namespace tony::executor
