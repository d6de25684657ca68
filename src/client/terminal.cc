// Terminal sizes, and making foreign text harmless.
#include "client/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "rpc/utf8.h"

namespace tony::client {
namespace {

constexpr int kReservedLines = 10;  // of the table, besides its tasks

/// One decoded character: its code point and its length in bytes.
struct Character {
  uint32_t code_point = 0;
  size_t bytes = 1;
};

/// The character at `position` of well-formed UTF-8.
Character Decode(const std::string& text, size_t position) {
  const uint32_t first = static_cast<unsigned char>(text[position]);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  uint32_t code_point = first & (0xFFu >> (bytes + 1));
  for (size_t offset = 1; offset < bytes; ++offset) {
    code_point = (code_point << 6) | (static_cast<unsigned char>(text[position + offset]) & 0x3Fu);
  }
  return {code_point, bytes};
}

/// Where the escape sequence that starts at `position` (an ESC) ends: behind its last byte.
size_t EndOfEscape(const std::string& text, size_t position) {
  size_t end = position + 1;
  if (end >= text.size()) return end;
  const char kind = text[end++];
  if (kind == '[') {  // CSI: parameters, then one final byte
    while (end < text.size() && text[end] >= 0x20 && text[end] < 0x40) ++end;
    return std::min(end + 1, text.size());
  }
  if (kind == ']' || kind == 'P' || kind == '^' || kind == '_' ||
      kind == 'X') {  // strings: until BEL or ESC backslash
    while (end < text.size() && text[end] != '\a' && text[end] != '\x1b') ++end;
    return end < text.size() && text[end] == '\a' ? end + 1 : end;
  }
  return end;
}

/// Characters that change the direction of what follows.
bool IsDirectionControl(uint32_t code_point) {
  return code_point == 0x200E || code_point == 0x200F || code_point == 0x061C ||
         (code_point >= 0x202A && code_point <= 0x202E) ||
         (code_point >= 0x2066 && code_point <= 0x2069);
}

struct Range {
  uint32_t first, last;
};

bool InRanges(uint32_t code_point, const Range* begin, const Range* end) {
  return std::any_of(begin, end, [&](const Range& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

/// Columns of one character: the wide scripts and emoji of Unicode's East Asian Width, and the
/// common marks of width 0.
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
  return screen;
}

std::string SafeText(const std::string& text) {
  const std::string whole = rpc::ToUtf8(text);
  std::string safe;
  safe.reserve(whole.size());
  size_t position = 0;
  while (position < whole.size()) {
    if (whole[position] == '\x1b') {
      position = EndOfEscape(whole, position);
      continue;
    }
    const Character character = Decode(whole, position);
    const uint32_t code_point = character.code_point;
    const bool control = code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
    if (code_point == '\t' || code_point == '\n') {
      safe += code_point == '\t' ? "    " : " ";
    } else if (!control && !IsDirectionControl(code_point)) {
      safe.append(whole, position, character.bytes);
    }
    position += character.bytes;
  }
  return safe;
}

void PrintNotice(const std::string& text) {
  std::string safe;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, "\n"))) {
    absl::StrAppend(&safe, SafeText(line), "\n");
  }
  std::fputs(safe.c_str(), stderr);
}

int DisplayWidth(const std::string& text) {
  int width = 0;
  for (size_t position = 0; position < text.size();) {
    const Character character = Decode(text, position);
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
    const Character character = Decode(text, position);
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
    const Character character = Decode(text, position);
    if (character.code_point == ' ') space = position;
    if (used + Columns(character.code_point) > width && position > start) {
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
