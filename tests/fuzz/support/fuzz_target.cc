// The common part of targets: failures of properties, and the pieces of an input.
#include "tests/fuzz/support/fuzz_target.h"

#include <algorithm>

namespace tony::fuzz {

void Require(bool holds, const char* property) {
  if (!holds) throw PropertyBroken(property);
}

uint8_t InputReader::Byte() {
  if (rest_.empty()) return 0;
  const auto byte = static_cast<uint8_t>(rest_.front());
  rest_.remove_prefix(1);
  return byte;
}

std::string InputReader::Piece() {
  const size_t high = Byte();
  const size_t length = high << 8 | Byte();
  const size_t size = std::min(length, rest_.size());
  std::string piece(rest_.substr(0, size));
  rest_.remove_prefix(size);
  return piece;
}

std::string InputReader::Until(char end) {
  const size_t size = std::min(rest_.find(end), rest_.size());
  std::string piece(rest_.substr(0, size));
  rest_.remove_prefix(std::min(size + 1, rest_.size()));
  return piece;
}

std::string InputReader::Rest() {
  std::string all(rest_);
  rest_ = {};
  return all;
}

std::vector<std::string> Divided(std::string_view bytes, uint8_t seed) {
  if (seed == 1) return {std::string(bytes)};
  std::vector<std::string> pieces;
  uint32_t state = seed;
  while (!bytes.empty()) {
    // The constants of Numerical Recipes' generator; its high bits are the good ones.
    state = state * 1664525 + 1013904223;
    const size_t most = size_t{1} << (seed % 8);
    const size_t size = seed == 0 ? 1 : std::min(bytes.size(), 1 + (state >> 16) % most);
    pieces.emplace_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return pieces;
}

}  // namespace tony::fuzz
