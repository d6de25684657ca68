// Widths are computed from ranges of Unicode, so they do not depend on the locale.
#include "client/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace tony::client {
namespace {

constexpr int kReservedLines = 10;  // lines of the table besides its tasks

struct Range {
  uint32_t first, last;
};

bool InRanges(uint32_t code_point, const Range* begin, const Range* end) {
  return std::any_of(begin, end, [&](const Range& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

/// The number of columns of one character: the wide scripts and emoji of Unicode's East Asian Width
/// take 2, common combining marks 0, all others 1.
int Columns(uint32_t code_point) {
  constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
                             {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                             {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
                             {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
  constexpr Range kNone[] = {
      {0x0300, 0x036F}, {0x200B, 0x200D}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};
  if (InRanges(code_point, std::begin(kNone), std::end(kNone))) return 0;
  return InRanges(code_point, std::begin(kWide), std::end(kWide)) ? 2 : 1;
}

}  // namespace

bool IsLiveTerminal(int fd, const Environment& environment) {
  return isatty(fd) == 1 && !environment.term.empty() && environment.term != "dumb";
}

Screen DescribeScreen(int fd, const Environment& environment) {
  Screen screen;
  winsize size{};
  if (!IsLiveTerminal(fd, environment)) return screen;
  screen.color = !environment.no_color;
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return screen;
  screen.width = size.ws_col;
  screen.max_tasks = std::max(1, size.ws_row - kReservedLines);
  screen.rows = size.ws_row;
  return screen;
}

void PrintNotice(const std::string& text) { PrintForPeople(STDERR_FILENO, text + "\n"); }

int DisplayWidth(const std::string& text) {
  int width = 0;
  for (size_t position = 0; position < text.size();) {
    const Utf8Character character = DecodeUtf8(text, position);
    width += Columns(character.code_point);
    position += character.bytes;
  }
  return width;
}

std::string CutToWidth(const std::string& text, int width) {
  if (DisplayWidth(text) <= width) return text;
  if (width <= 0) return "";
  int used = 0;
  size_t position = 0;
  while (position < text.size()) {
    const Utf8Character character = DecodeUtf8(text, position);
    if (used + Columns(character.code_point) > width - 1) break;
    used += Columns(character.code_point);
    position += character.bytes;
  }
  return absl::StrCat(text.substr(0, position), "…");
}

std::vector<std::string> WrapToWidth(const std::string& text, int width) {
  std::vector<std::string> lines;
  size_t start = 0, space = std::string::npos;
  int used = 0;
  for (size_t position = 0; position < text.size();) {
    const Utf8Character character = DecodeUtf8(text, position);
    if (character.code_point == ' ') space = position;
    if (used + Columns(character.code_point) > width && position > start) {
      // Breaks at the last space; a word longer than the line is cut.
      const bool at_space = space != std::string::npos && space > start;
      lines.push_back(text.substr(start, (at_space ? space : position) - start));
      start = position = at_space ? space + 1 : position;
      space = std::string::npos;
      used = 0;
      continue;
    }
    used += Columns(character.code_point);
    position += character.bytes;
  }
  lines.push_back(text.substr(start));
  return lines;
}

std::string PadToWidth(const std::string& text, int width) {
  return absl::StrCat(text, std::string(std::max(0, width - DisplayWidth(text)), ' '));
}

}  // namespace tony::client
