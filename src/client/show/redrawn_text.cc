#include "client/show/redrawn_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tony::client {
namespace {

/// Back to the first column of the text's first line, and clear from there on.
constexpr char kErase[] = "\r\x1b[J";
/// Off and on: lines that are too long are continued in the next line. While it is off a line of
/// the text never becomes two, also where a character is wider than we know.
constexpr char kWrapOff[] = "\x1b[?7l";
constexpr char kWrapOn[] = "\x1b[?7h";

}  // namespace

ptrdiff_t CountLines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

std::string ClipLines(const std::string& text, ptrdiff_t most) {
  const ptrdiff_t lines = CountLines(text);
  if (lines <= most) return text;
  size_t end = 0;
  for (ptrdiff_t line = 1; line < most; ++line) end = text.find('\n', end) + 1;
  return most <= 0 ? ""
                   : absl::StrCat(text.substr(0, end), "… ", lines - most + 1, " more lines\n");
}

void RedrawnText::Draw(const std::string& text, const std::string& above, const Screen& screen,
                       bool leave) {
  const bool resized = screen.width != drawn_on_.width || screen.rows != drawn_on_.rows;
  if (!leave && text == drawn_ && above.empty() && !resized) return;
  std::string bytes = absl::StrCat(drawn_.empty() ? "" : kErase, above, kWrapOff, text, kWrapOn);
  if (!leave) absl::StrAppend(&bytes, "\x1b[", CountLines(text), "A");
  // One write, so that the terminal never shows a half drawn text.
  write_(bytes);
  drawn_ = leave ? "" : text;
  drawn_on_ = screen;
}

}  // namespace tony::client
