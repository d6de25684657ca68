// Packs and unpacks 32-bit numbers in big-endian byte order.
#pragma once

#include <cstdint>
#include <string>

namespace tony {

/// The four bytes of `number`, the highest first.
inline std::string BigEndian(uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(number >> shift));
  return bytes;
}

/// The number in the four bytes at `bytes`, the highest first.
inline uint32_t FromBigEndian(const char* bytes) {
  uint32_t number = 0;
  for (int i = 0; i < 4; ++i) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  return number;
}

}  // namespace tony
