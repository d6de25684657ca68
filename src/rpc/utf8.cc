// Validation of UTF-8 after Unicode 15, table 3-7 (well-formed byte sequences).
#include "rpc/utf8.h"

#include <cstdint>

namespace tony::rpc {
namespace {

/// Length of the well-formed sequence at `position`, or 0.
size_t SequenceLength(const std::string& text, size_t position) {
  auto byte = [&](size_t offset) -> uint8_t {
    return position + offset < text.size() ? static_cast<uint8_t>(text[position + offset]) : 0;
  };
  auto between = [](uint8_t value, uint8_t low, uint8_t high) {
    return value >= low && value <= high;
  };
  auto continuation = [&](size_t offset) { return between(byte(offset), 0x80, 0xBF); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
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

std::string ToUtf8(const std::string& text) {
  std::string result;
  result.reserve(text.size());
  for (size_t position = 0; position < text.size();) {
    const size_t length = SequenceLength(text, position);
    if (length == 0) {
      result += "\xEF\xBF\xBD";
      ++position;
    } else {
      result.append(text, position, length);
      position += length;
    }
  }
  return result;
}

}  // namespace tony::rpc
