// The name of an exception stands at the beginning of its line, or after a prefix that a launcher
// puts before each line.
#include "core/record/error_line.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace tony::core {
namespace {

/// "ValueError", "torch.cuda.OutOfMemoryError", "KeyboardInterrupt"
bool NamesException(absl::string_view word) {
  if (word.empty() || !(absl::ascii_isalpha(word.front()) || word.front() == '_')) return false;
  for (const char c : word) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '.') return false;
  }
  return absl::EndsWith(word, "Error") || absl::EndsWith(word, "Exception") ||
         absl::EndsWith(word, "Interrupt");
}

/// The part of `line` from the exception's name on; empty without one.
std::string FromException(absl::string_view line) {
  // Python indents the lines of a traceback except the last.
  if (line.empty() || absl::ascii_isspace(line.front())) return "";
  // The name ends at a colon, or at the end of the line.
  for (size_t end = line.find(':');; end = line.find(':', end + 1)) {
    const absl::string_view before = line.substr(0, end);
    const size_t space = before.rfind(' ');
    const size_t begin = space == absl::string_view::npos ? 0 : space + 1;
    // "[rank1]: ValueError: …" is one; "raised a ValueError: …" speaks of one.
    const bool first = begin == 0 || absl::EndsWith(before.substr(0, begin), ": ");
    if (first && NamesException(before.substr(begin))) return std::string(line.substr(begin));
    if (end == absl::string_view::npos) return "";
  }
}

}  // namespace

std::string ErrorLine(const std::vector<std::string>& lines) {
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    std::string found = FromException(absl::StripTrailingAsciiWhitespace(*line));
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace tony::core
