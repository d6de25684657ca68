// UTF-8 by Unicode 15, table 3-7: decodes characters and makes any bytes well-formed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tony {

/// One character of a text.
struct Utf8Character {
  uint32_t code_point = 0xFFFD;  ///< U+FFFD for a byte that is not part of well-formed UTF-8
  size_t bytes = 1;
  bool well_formed = false;
};

/// The character that begins at `position`, which must be below `text.size()`. Never reads beyond
/// `text`.
Utf8Character DecodeUtf8(std::string_view text, size_t position);

/// The UTF-8 bytes of `code_point`; those of U+FFFD if `code_point` is no character (a surrogate,
/// or beyond U+10FFFF).
std::string EncodeUtf8(uint32_t code_point);

/// Returns `text` with every byte that is not part of well-formed UTF-8 replaced by U+FFFD.
std::string ToUtf8(const std::string& text);

/// Position of the first byte that is not part of well-formed UTF-8; npos if there is none.
size_t FindMalformedUtf8(std::string_view text);

}  // namespace tony
