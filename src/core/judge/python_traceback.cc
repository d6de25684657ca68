// A line-by-line state machine: a traceback's head, its indented frames, its exception.
#include "core/judge/python_traceback.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace tony::core {
namespace {

constexpr char kHead[] = "Traceback (most recent call last):";
constexpr const char* kChains[] = {
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:"};

bool IsNameCharacter(char character) {
  return absl::ascii_isalnum(character) || character == '_' || character == '.';
}

/// True for "ValueError: no such layer", "torch.cuda.OutOfMemoryError: …", "KeyboardInterrupt": a
/// dotted name, alone or before a colon. The program's own lines in between rarely look like that.
/// A name in capitals ("WARNING: …") is a log level or an error code.
bool IsException(const std::string& line) {
  const auto end = std::find_if_not(line.begin(), line.end(), IsNameCharacter);
  if (end == line.begin() || absl::ascii_isdigit(line[0])) return false;
  if (std::none_of(line.begin(), end, absl::ascii_islower)) return false;
  const std::string rest(end, line.end());
  return rest.empty() || absl::StartsWith(rest, ": ") || rest == ":";
}

/// Not thread safe.
class Reader {
 public:
  void Read(size_t number, const std::string& line) {
    const size_t head = line.find(kHead);
    if (!inside_ && head != std::string::npos) {
      prefix_ = line[0] == '[' ? line.substr(0, head) : "";
      if (!std::exchange(chained_, false)) found_ = PythonTraceback{number, number, {}};
      inside_ = true;
      return;
    }
    if (!found_ || !absl::StartsWith(line, prefix_)) return;
    const std::string text = line.substr(prefix_.size());
    if (!inside_) {
      chained_ =
          chained_ || std::find(std::begin(kChains), std::end(kChains), text) != std::end(kChains);
    } else if (IsException(text)) {
      found_->last = number;
      found_->exceptions.push_back(number);
      inside_ = false;
    }
  }

  std::optional<PythonTraceback> Finish(size_t count) {
    if (inside_) found_->last = count - 1;
    return std::move(found_);
  }

 private:
  std::optional<PythonTraceback> found_;
  std::string prefix_;    ///< launcher's prefix of the lines of `found_`
  bool inside_ = false;   ///< between the head and the exception
  bool chained_ = false;  ///< the next head continues `found_`
};

}  // namespace

std::optional<PythonTraceback> LastPythonTraceback(const std::vector<std::string>& lines) {
  Reader reader;
  for (size_t i = 0; i < lines.size(); ++i) reader.Read(i, lines[i]);
  return reader.Finish(lines.size());
}

std::string LastException(const std::vector<std::string>& lines) {
  const std::optional<PythonTraceback> traceback = LastPythonTraceback(lines);
  if (!traceback || traceback->exceptions.empty()) return "";
  const std::string& head = lines[traceback->first];
  const size_t prefix = head[0] == '[' ? head.find(kHead) : 0;
  return lines[traceback->exceptions.back()].substr(prefix);
}

std::optional<size_t> FatalPythonError(const std::vector<std::string>& lines) {
  for (size_t i = lines.size(); i > 0; --i) {
    if (absl::StartsWith(lines[i - 1], "Fatal Python error: ")) return i - 1;
  }
  return std::nullopt;
}

}  // namespace tony::core
