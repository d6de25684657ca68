// A scanner that drops whole escape sequences as ECMA-48 defines them, then control characters one
// by one.
#include "common/safe_text.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/utf8.h"

namespace tony {
namespace {

constexpr char kEscape = '\x1b';

bool Between(char byte, char first, char last) { return byte >= first && byte <= last; }

/// The position after the bytes from `position` on that lie between `first` and `last`.
size_t Skip(std::string_view text, size_t position, char first, char last) {
  while (position < text.size() && Between(text[position], first, last)) ++position;
  return position;
}

/// The position after the escape sequence whose ESC is at `position`. A sequence consists of ASCII
/// bytes and ends before any other byte. The following bytes are read as if they stood alone, so
/// that neither a second ESC nor the rest of a longer character hides in a sequence.
size_t EndOfEscape(std::string_view text, size_t position) {
  size_t end = position + 1;
  if (end >= text.size()) return end;
  const char kind = text[end];
  if (kind == '[') {  // CSI: parameters, intermediate bytes, one final byte
    end = Skip(text, end + 1, 0x30, 0x3F);
    end = Skip(text, end, 0x20, 0x2F);
    return end < text.size() && Between(text[end], 0x40, 0x7E) ? end + 1 : end;
  }
  // Control strings (OSC, DCS, PM, APC, SOS) end with BEL or with ESC backslash, which is a
  // sequence of its own.
  if (kind == ']' || kind == 'P' || kind == '^' || kind == '_' || kind == 'X') {
    end = text.find_first_of(std::string_view("\a\x1b"), end + 1);
    if (end == std::string_view::npos) return text.size();
    return text[end] == '\a' ? end + 1 : end;
  }
  end = Skip(text, end, 0x20, 0x2F);
  return end < text.size() && Between(text[end], 0x30, 0x7E) ? end + 1 : end;
}

bool IsControl(uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
}

/// Characters that change the direction of the following text, and Unicode's deprecated format
/// characters.
bool IsDirectionControl(uint32_t code_point) {
  return code_point == 0x200E || code_point == 0x200F || code_point == 0x061C ||
         (code_point >= 0x202A && code_point <= 0x202E) ||
         (code_point >= 0x2066 && code_point <= 0x206F);
}

/// Whether the character ends a line or a paragraph (U+2028, U+2029).
bool EndsLine(uint32_t code_point) {
  return code_point == '\n' || code_point == 0x2028 || code_point == 0x2029;
}

/// Length of tony's own colour sequence at `position`; 0 if there is none.
size_t ColorLength(std::string_view text, size_t position) {
  const std::string_view rest = text.substr(position);
  if (rest.substr(0, 4) == "\x1b[0m") return 4;
  const bool color = rest.size() >= 5 && rest.substr(0, 3) == "\x1b[3" &&
                     Between(rest[3], '0', '7') && rest[4] == 'm';
  return color ? 5 : 0;
}

void AppendSafe(std::string_view text, Paint paint, std::string* safe) {
  for (size_t position = 0; position < text.size();) {
    if (text[position] == kEscape) {
      const size_t color = paint == Paint::kColors ? ColorLength(text, position) : 0;
      safe->append(text, position, color);
      position = color > 0 ? position + color : EndOfEscape(text, position);
      continue;
    }
    const Utf8Character character = DecodeUtf8(text, position);
    if (character.code_point == '\t') {
      safe->append("    ");
    } else if (EndsLine(character.code_point)) {
      safe->push_back(' ');
      // DecodeUtf8() returns U+FFFD for a malformed byte, so that byte is replaced by U+FFFD.
    } else if (!character.well_formed) {
      safe->append(EncodeUtf8(character.code_point));
    } else if (!IsControl(character.code_point) && !IsDirectionControl(character.code_point)) {
      safe->append(text, position, character.bytes);
    }
    position += character.bytes;
  }
}

}  // namespace

std::string SafeText(const std::string& text) {
  std::string safe;
  safe.reserve(text.size());
  AppendSafe(text, Paint::kNone, &safe);
  return safe;
}

std::string SafeLines(const std::string& text, Paint paint) {
  std::string safe;
  safe.reserve(text.size());
  for (size_t begin = 0;;) {
    const size_t end = text.find('\n', begin);
    AppendSafe(std::string_view(text).substr(begin, end - begin), paint, &safe);
    if (end == std::string::npos) return safe;
    safe.push_back('\n');
    begin = end + 1;
  }
}

bool PrintForPeople(int fd, const std::string& text, Paint paint) {
  const std::string safe = SafeLines(text, paint);
  for (size_t written = 0; written < safe.size();) {
    const ssize_t count = ::write(fd, safe.data() + written, safe.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    written += static_cast<size_t>(count);
  }
  return true;
}

std::string SafeJson(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (size_t position = 0; position < json.size();) {
    const Utf8Character character = DecodeUtf8(json, position);
    const uint32_t code_point = character.code_point;
    // Line ends and spaces between values stay; every other character can stand only in a string,
    // where \u escapes are allowed.
    const bool steers = code_point >= 0x7F && (IsControl(code_point) || EndsLine(code_point) ||
                                               IsDirectionControl(code_point));
    if (steers) {
      absl::StrAppendFormat(&safe, "\\u%04x", code_point);
    } else {
      safe.append(json, position, character.bytes);
    }
    position += character.bytes;
  }
  return safe;
}

}  // namespace tony
