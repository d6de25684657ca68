// UTF-8 by Unicode 15, table 3-7: its characters, and making any bytes well-formed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tony {

/// One character of a text.
struct Utf8Character {
  uint32_t code_point = 0xFFFD;  ///< U+FFFD stands for a byte that is no part of well-formed UTF-8
  size_t bytes = 1;
  bool well_formed = false;
};

/// The character that begins at `position`, which is below `text.size()`. Never reads beyond
/// `text`.
Utf8Character DecodeUtf8(std::string_view text, size_t position);

/// The UTF-8 of `code_point`; that of U+FFFD for what is no character (a surrogate, beyond
/// U+10FFFF).
std::string EncodeUtf8(uint32_t code_point);

/// `text`, with every byte that is not part of well-formed UTF-8 replaced by U+FFFD.
std::string ToUtf8(const std::string& text);

/// Where the first byte stands that is not part of well-formed UTF-8; npos when all are.
size_t FindMalformedUtf8(std::string_view text);

}  // namespace tony
