// Poly1305 with limbs of 44 bits and four blocks at a time; ChaCha20 for single blocks.
#include "collective/base/poly1305.h"

#include <bit>
#include <cstring>

namespace tony::collective {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie");

__extension__ using Wide = unsigned __int128;
constexpr uint64_t kMask44 = (uint64_t{1} << 44) - 1;
constexpr uint64_t kMask42 = (uint64_t{1} << 42) - 1;
constexpr size_t kBlock = 16;
constexpr size_t kStride = 4 * kBlock;

uint64_t WordAt(const uint8_t* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

/// A number below about 2^132: limbs of 44, 44 and 42 bits, each of which may exceed its size by a
/// few bits.
struct Limbs {
  uint64_t low = 0;
  uint64_t middle = 0;
  uint64_t high = 0;
};

/// A factor modulo 2^130 - 5, with precomputed multiples: 2^132 is congruent to 20, so limbs beyond
/// 2^132 come back times 20.
struct Factor {
  explicit Factor(const Limbs& of) : limbs(of), middle20(of.middle * 20), high20(of.high * 20) {}
  Limbs limbs;
  uint64_t middle20;
  uint64_t high20;
};

/// A sum of up to four products; with more, its limbs could overflow in Reduced().
struct Product {
  Wide low = 0;
  Wide middle = 0;
  Wide high = 0;

  void Add(const Limbs& a, const Factor& b) {
    low += Wide{a.low} * b.limbs.low + Wide{a.middle} * b.high20 + Wide{a.high} * b.middle20;
    middle += Wide{a.low} * b.limbs.middle + Wide{a.middle} * b.limbs.low + Wide{a.high} * b.high20;
    high +=
        Wide{a.low} * b.limbs.high + Wide{a.middle} * b.limbs.middle + Wide{a.high} * b.limbs.low;
  }
  Limbs Reduced() const {
    Limbs sum;
    Wide rest = low;
    sum.low = static_cast<uint64_t>(rest) & kMask44;
    rest = middle + (rest >> 44);
    sum.middle = static_cast<uint64_t>(rest) & kMask44;
    rest = high + (rest >> 44);
    sum.high = static_cast<uint64_t>(rest) & kMask42;
    // The sum of four products is below 2^97, so the part beyond 2^130 is below 2^56, and five
    // times that part fits.
    sum.low += static_cast<uint64_t>(rest >> 42) * 5;
    sum.middle += sum.low >> 44;
    sum.low &= kMask44;
    return sum;
  }
};

/// `hibit`: the bit 2^128 in the high limb. It stands behind the bytes of a whole block; 0 for a
/// partial one.
Limbs BlockAt(const uint8_t* at, uint64_t hibit = uint64_t{1} << 40) {
  const uint64_t first = WordAt(at);
  const uint64_t second = WordAt(at + 8);
  return {.low = first & kMask44,
          .middle = (first >> 44 | second << 20) & kMask44,
          .high = second >> 24 | hibit};
}

Limbs Sum(const Limbs& a, const Limbs& b) {
  return {.low = a.low + b.low, .middle = a.middle + b.middle, .high = a.high + b.high};
}

Limbs Times(const Limbs& a, const Factor& b) {
  Product product;
  product.Add(a, b);
  return product.Reduced();
}

/// The number modulo 2^130 - 5, with all limbs in their bounds.
Limbs Canonical(Limbs sum) {
  for (int round = 0; round < 2; ++round) {
    sum.middle += sum.low >> 44;
    sum.low &= kMask44;
    sum.high += sum.middle >> 44;
    sum.middle &= kMask44;
    sum.low += (sum.high >> 42) * 5;
    sum.high &= kMask42;
  }
  sum.middle += sum.low >> 44;
  sum.low &= kMask44;
  // Subtracts 2^130 - 5 once more if the number is not below it. The choice is by mask and not by
  // branch, so that the time does not depend on the secret number.
  Limbs less = {.low = sum.low + 5, .middle = sum.middle, .high = sum.high};
  less.middle += less.low >> 44;
  less.low &= kMask44;
  less.high += less.middle >> 44;
  less.middle &= kMask44;
  const uint64_t take = 0 - (less.high >> 42);
  less.high &= kMask42;
  return {.low = (sum.low & ~take) | (less.low & take),
          .middle = (sum.middle & ~take) | (less.middle & take),
          .high = (sum.high & ~take) | (less.high & take)};
}

void QuarterRound(uint32_t& a, uint32_t& b, uint32_t& c, uint32_t& d) {
  a += b, d = std::rotl(d ^ a, 16);
  c += d, b = std::rotl(b ^ c, 12);
  a += b, d = std::rotl(d ^ a, 8);
  c += d, b = std::rotl(b ^ c, 7);
}

}  // namespace

MacKey OneTimeKey(const MacKey& key, uint64_t number) {
  // The state is "expand 32-byte k", the key, the block counter 0, and a nonce of 12 bytes, of
  // which only the last 8 are used.
  std::array<uint32_t, 16> start = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  std::memcpy(&start[4], key.data(), key.size());
  std::memcpy(&start[14], &number, sizeof(number));
  std::array<uint32_t, 16> x = start;
  for (int round = 0; round < 10; ++round) {
    for (size_t i = 0; i < 4; ++i) QuarterRound(x[i], x[i + 4], x[i + 8], x[i + 12]);
    QuarterRound(x[0], x[5], x[10], x[15]);
    QuarterRound(x[1], x[6], x[11], x[12]);
    QuarterRound(x[2], x[7], x[8], x[13]);
    QuarterRound(x[3], x[4], x[9], x[14]);
  }
  for (size_t i = 0; i < x.size(); ++i) x[i] += start[i];
  MacKey made{};
  std::memcpy(made.data(), x.data(), made.size());
  return made;
}

MacTag Poly1305(const MacKey& one_time, const void* message, size_t bytes) {
  const uint64_t first = WordAt(&one_time[0]) & 0x0ffffffc0fffffff;
  const uint64_t second = WordAt(&one_time[8]) & 0x0ffffffc0ffffffc;
  const Factor r({.low = first & kMask44,
                  .middle = (first >> 44 | second << 20) & kMask44,
                  .high = second >> 24});
  const auto* at = static_cast<const uint8_t*>(message);
  Limbs sum;
  if (bytes >= kStride) {
    // Horner's rule for four blocks at once, with powers of r. Four blocks depend on the four
    // before through one product only, so the processor can do several multiplications at the same
    // time.
    const Factor r2(Times(r.limbs, r));
    const Factor r3(Times(r2.limbs, r));
    const Factor r4(Times(r3.limbs, r));
    for (; bytes >= kStride; at += kStride, bytes -= kStride) {
      Product product;
      product.Add(Sum(sum, BlockAt(at)), r4);
      product.Add(BlockAt(at + kBlock), r3);
      product.Add(BlockAt(at + 2 * kBlock), r2);
      product.Add(BlockAt(at + 3 * kBlock), r);
      sum = product.Reduced();
    }
  }
  for (; bytes >= kBlock; at += kBlock, bytes -= kBlock) sum = Times(Sum(sum, BlockAt(at)), r);
  if (bytes > 0) {
    // A partial block ends with a byte 1 instead of the bit 2^128.
    std::array<uint8_t, kBlock> last{};
    std::memcpy(last.data(), at, bytes);
    last[bytes] = 1;
    sum = Times(Sum(sum, BlockAt(last.data(), 0)), r);
  }
  sum = Canonical(sum);
  // Adds the key's second half, modulo 2^128.
  const Wide whole = (Wide{sum.low} | Wide{sum.middle} << 44 | Wide{sum.high} << 88) +
                     (Wide{WordAt(&one_time[16])} | Wide{WordAt(&one_time[24])} << 64);
  MacTag tag{};
  std::memcpy(tag.data(), &whole, sizeof(whole));
  return tag;
}

}  // namespace tony::collective
