// A plain implementation of FIPS 180-4, RFC 2104 and RFC 5869. Messages are short and few, so it is
// not tuned for speed.
#include "collective/net/hmac.h"

#include <bit>
#include <cstring>
#include <string>

namespace tony::collective {
namespace {

constexpr size_t kBlock = 64;

/// FIPS 180-4, section 4.2.2: the first 32 bits of the fractional parts of the cube roots of the
/// first 64 primes.
constexpr std::array<uint32_t, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/// FIPS 180-4, section 5.3.3: the first 32 bits of the fractional parts of the square roots of the
/// first eight primes.
constexpr std::array<uint32_t, 8> kStart = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

std::array<uint32_t, 64> Schedule(const char* block) {
  std::array<uint32_t, 64> words{};
  for (size_t i = 0; i < 16; ++i) {
    for (size_t byte = 0; byte < 4; ++byte) {
      words[i] = words[i] << 8 | static_cast<uint8_t>(block[i * 4 + byte]);
    }
  }
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t near = words[i - 2];
    const uint32_t far = words[i - 15];
    words[i] = words[i - 16] + words[i - 7] +
               (std::rotr(far, 7) ^ std::rotr(far, 18) ^ (far >> 3)) +
               (std::rotr(near, 17) ^ std::rotr(near, 19) ^ (near >> 10));
  }
  return words;
}

void AddBlock(std::array<uint32_t, 8>& state, const char* block) {
  const std::array<uint32_t, 64> words = Schedule(block);
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                           ((e & f) ^ (~e & g)) + kRounds[i] + words[i];
    const uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first;
    d = c, c = b, b = a, a = first + second;
  }
  const std::array<uint32_t, 8> after = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state.size(); ++i) state[i] += after[i];
}

std::string_view View(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

Digest Sha256(std::string_view bytes) {
  // Section 5.1.1: a one bit, zeros, and the length in bits as the last eight bytes of a block.
  std::string padded(bytes);
  padded += static_cast<char>(0x80);
  padded.append((2 * kBlock - 8 - padded.size() % kBlock) % kBlock, '\0');
  const uint64_t bits = uint64_t{bytes.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>(bits >> shift);
  std::array<uint32_t, 8> state = kStart;
  for (size_t at = 0; at < padded.size(); at += kBlock) AddBlock(state, &padded[at]);
  Digest digest{};
  for (size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<uint8_t>(state[i / 4] >> (24 - i % 4 * 8));
  }
  return digest;
}

// RFC 2104: a key longer than a block is replaced by its hash; 0x36 and 0x5c are ipad and opad.
Digest Hmac(std::string_view key, std::string_view message) {
  const Digest hashed = key.size() > kBlock ? Sha256(key) : Digest{};
  std::string padded(key.size() > kBlock ? View(hashed) : key);
  padded.resize(kBlock, '\0');
  std::string inner = padded;
  std::string outer = padded;
  for (char& byte : inner) byte = static_cast<char>(byte ^ 0x36);
  for (char& byte : outer) byte = static_cast<char>(byte ^ 0x5c);
  const Digest first = Sha256(inner.append(message));
  return Sha256(outer.append(View(first)));
}

Digest Hmac(std::string_view key, std::initializer_list<std::string_view> fields) {
  std::string message;
  for (const std::string_view field : fields) {
    const uint64_t size = field.size();
    message.append(reinterpret_cast<const char*>(&size), sizeof(size)).append(field);
  }
  return Hmac(key, message);
}

Digest DeriveKey(std::string_view secret, std::string_view salt, std::string_view info) {
  // HKDF-Extract, then HKDF-Expand up to its first block, whose counter is the byte 1.
  const Digest extracted = Hmac(salt, secret);
  return Hmac(View(extracted), std::string(info) += '\1');
}

bool AreSame(const Digest& a, const Digest& b) {
  unsigned different = 0;
  for (size_t i = 0; i < a.size(); ++i) different |= static_cast<unsigned>(a[i] ^ b[i]);
  return different == 0;
}

}  // namespace tony::collective
