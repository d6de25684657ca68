// Validates byte sequences by table 3-7 of Unicode 15 (well-formed UTF-8 byte sequences).
#include "common/utf8.h"

#include <algorithm>
#include <iterator>

namespace tony {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";

/// A row of the table: the sequences of `length` bytes whose first two bytes are in these ranges.
/// All further bytes are in 80..BF.
struct SequenceRow {
  uint8_t first_low;
  uint8_t first_high;
  uint8_t second_low;
  uint8_t second_high;
  size_t length;
};

// The table's rows without the first one, which is ASCII. The range of the second byte depends on
// the first one: this excludes overlong forms (after E0 and F0), surrogates (after ED), and code
// points beyond U+10FFFF (after F4).
constexpr SequenceRow kRows[] = {
    {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
    {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
    {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
};

bool IsBetween(char byte, uint8_t low, uint8_t high) {
  const auto value = static_cast<uint8_t>(byte);
  return value >= low && value <= high;
}

/// Length in bytes of the well-formed sequence at `position`, which must be below `text.size()`; 0
/// if there is none.
size_t SequenceLength(std::string_view text, size_t position) {
  const std::string_view rest = text.substr(position);
  if (static_cast<uint8_t>(rest[0]) < 0x80) return 1;
  const auto* const row = std::find_if(
      std::begin(kRows), std::end(kRows),
      [&](const SequenceRow& one) { return IsBetween(rest[0], one.first_low, one.first_high); });
  if (row == std::end(kRows) || rest.size() < row->length) return 0;
  if (!IsBetween(rest[1], row->second_low, row->second_high)) return 0;
  const std::string_view tail = rest.substr(2, row->length - 2);
  const bool complete =
      std::all_of(tail.begin(), tail.end(), [](char byte) { return IsBetween(byte, 0x80, 0xBF); });
  return complete ? row->length : 0;
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
