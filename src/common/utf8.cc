// Validates byte sequences by table 3-7 of Unicode 15 (well-formed UTF-8 byte sequences).
#include "common/utf8.h"

namespace tony {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";

/// Length in bytes of the well-formed sequence at `position`; 0 if there is none.
size_t SequenceLength(std::string_view text, size_t position) {
  auto byte = [&](size_t offset) -> uint8_t {
    return position + offset < text.size() ? static_cast<uint8_t>(text[position + offset]) : 0;
  };
  auto between = [](uint8_t value, uint8_t low, uint8_t high) {
    return value >= low && value <= high;
  };
  auto continuation = [&](size_t offset) { return between(byte(offset), 0x80, 0xBF); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  // The range of the second byte depends on the first one: this excludes overlong forms (after E0
  // and F0), surrogates (after ED), and code points beyond U+10FFFF (after F4).
  if (between(first, 0xC2, 0xDF)) return continuation(1) ? 2 : 0;
  if (between(first, 0xE0, 0xEF)) {
    const uint8_t low = first == 0xE0 ? 0xA0 : 0x80;
    const uint8_t high = first == 0xED ? 0x9F : 0xBF;
    return between(byte(1), low, high) && continuation(2) ? 3 : 0;
  }
  if (between(first, 0xF0, 0xF4)) {
    const uint8_t low = first == 0xF0 ? 0x90 : 0x80;
    const uint8_t high = first == 0xF4 ? 0x8F : 0xBF;
    return between(byte(1), low, high) && continuation(2) && continuation(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

Utf8Character DecodeUtf8(std::string_view text, size_t position) {
  const size_t length = SequenceLength(text, position);
  if (length == 0) return {};
  const auto first = static_cast<uint8_t>(text[position]);
  uint32_t code_point = length == 1 ? first : first & (0xFFu >> (length + 1));
  for (size_t offset = 1; offset < length; ++offset) {
    code_point = code_point << 6 | (static_cast<uint8_t>(text[position + offset]) & 0x3Fu);
  }
  return {code_point, length, true};
}

std::string EncodeUtf8(uint32_t code_point) {
  const auto byte = [](uint32_t value) { return static_cast<char>(value); };
  const auto tail = [&](int shift) { return byte(0x80 | (code_point >> shift & 0x3F)); };
  if (code_point < 0x80) return {byte(code_point)};
  if (code_point < 0x800) return {byte(0xC0 | code_point >> 6), tail(0)};
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (surrogate || code_point > 0x10FFFF) return kReplacement;
  if (code_point < 0x10000) return {byte(0xE0 | code_point >> 12), tail(6), tail(0)};
  return {byte(0xF0 | code_point >> 18), tail(12), tail(6), tail(0)};
}

std::string ToUtf8(const std::string& text) {
  std::string result;
  result.reserve(text.size());
  for (size_t position = 0; position < text.size();) {
    // Each malformed byte is replaced alone, so that a well-formed character right after it
    // survives.
    const size_t length = SequenceLength(text, position);
    if (length == 0) {
      result += kReplacement;
      ++position;
    } else {
      result.append(text, position, length);
      position += length;
    }
  }
  return result;
}

size_t FindMalformedUtf8(std::string_view text) {
  for (size_t position = 0; position < text.size();) {
    const size_t length = SequenceLength(text, position);
    if (length == 0) return position;
    position += length;
  }
  return std::string_view::npos;
}

}  // namespace tony
