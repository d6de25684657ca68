// Keys and values in messages come from the user's files, so they are shortened and made safe for
// the terminal.
#include "jobfile/xml/problem.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/safe_text.h"

namespace tony::jobfile {
namespace {

constexpr size_t kMostShown = 20;
constexpr size_t kLongestPart = 1000;  // bytes

/// At most kLongestPart bytes of `text`, cut at a UTF-8 character, since a quoted key or value may
/// have megabytes.
std::string Shortened(const std::string& text) {
  if (text.size() <= kLongestPart) return text;
  size_t end = kLongestPart;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), "… (", text.size() - end, " more bytes)");
}

}  // namespace

std::string RenderProblem(const Problem& problem) {
  std::string text = problem.file;
  if (problem.line > 0) absl::StrAppend(&text, ":", problem.line);
  if (!text.empty()) text += ": ";
  if (!problem.key.empty()) absl::StrAppend(&text, Shortened(problem.key), ": ");
  text += Shortened(problem.message);
  if (!problem.remedy.empty()) absl::StrAppend(&text, "; ", Shortened(problem.remedy));
  return SafeText(text);
}

std::string RenderProblems(const std::vector<Problem>& problems, const std::string& prefix) {
  std::string text;
  const size_t shown = std::min(problems.size(), kMostShown);
  for (size_t index = 0; index < shown; ++index) {
    absl::StrAppend(&text, prefix, RenderProblem(problems[index]), "\n");
  }
  if (shown < problems.size()) {
    // Above kMostProblems the checks stop, so the true number is not known.
    const char* const least = problems.size() > kMostProblems ? "at least " : "";
    absl::StrAppend(&text, prefix, "and ", least, problems.size() - shown, " more\n");
  }
  return text;
}

}  // namespace tony::jobfile
