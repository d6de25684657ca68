// Published vectors of Poly1305 and of its keys, and frames that are counted.
#include "collective/base/poly1305.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "collective/base/frame_mac.h"

namespace tony::collective {
namespace {

template <typename Bytes>
Bytes FromHex(const std::string& hex) {
  Bytes bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
  }
  return bytes;
}

std::string Hex(const void* bytes, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    const auto byte = static_cast<const uint8_t*>(bytes)[i];
    for (const int half : {byte >> 4, byte & 15}) text += "0123456789abcdef"[half];
  }
  return text;
}

std::string Tag(const std::string& key, const std::string& message) {
  const MacTag tag = Poly1305(FromHex<MacKey>(key), message.data(), message.size());
  return Hex(tag.data(), tag.size());
}

std::string Repeated(int count, const std::string& hex) {
  std::string text;
  for (int i = 0; i < count; ++i) text += hex;
  return text;
}

/// RFC 8439, 2.5.2.
TEST(Poly1305Test, PublishedVector) {
  EXPECT_EQ(Tag("85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b",
                "Cryptographic Forum Research Group"),
            "a8061dc1305136c6c22b8baf0c0127a9");
}

/// RFC 8439, A.3, numbers 7 to 11: where sums reach or pass 2^130 - 5, and 2^128.
TEST(Poly1305Test, PublishedEdges) {
  const std::string zeros = Repeated(16, "00");
  const std::string one = "01" + Repeated(15, "00");
  const std::string two = "02" + Repeated(15, "00");
  const std::string ff(16, '\xff');
  EXPECT_EQ(Tag(two + zeros, ff), "03" + Repeated(15, "00"));
  EXPECT_EQ(Tag(two + Repeated(16, "ff"), std::string("\2") + std::string(15, '\0')),
            "03" + Repeated(15, "00"));
  EXPECT_EQ(
      Tag(one + zeros, ff + "\xf0" + std::string(15, '\xff') + "\x11" + std::string(15, '\0')),
      "05" + Repeated(15, "00"));
  EXPECT_EQ(Tag(one + zeros, ff + "\xfb" + std::string(15, '\xfe') + std::string(16, '\1')), zeros);
  EXPECT_EQ(Tag(two + zeros, "\xfd" + std::string(15, '\xff')), "fa" + Repeated(15, "ff"));
}

/// RFC 8439, 2.6.2.
TEST(Poly1305Test, PublishedKey) {
  MacKey key{};
  for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<uint8_t>(0x80 + i);
  const MacKey made = OneTimeKey(key, 0x0706050403020100);
  EXPECT_EQ(Hex(made.data(), made.size()),
            "8ad5a08b905f81cc815040274ab29471a833b637e3fd0da508dbb8e2fdd1a646");
}

/// Four blocks at a time, one, and a part of one come to the same: the last blocks of a message
/// alone, behind the sum of the first ones, which is known.
TEST(Poly1305Test, LongMessagesAreSummedAsShortOnes) {
  // With r = 1 the sum is that of the blocks: of n blocks of zeros n times 2^128, modulo 2^130 - 5.
  const std::string key = "01" + Repeated(31, "00");
  for (size_t blocks = 1; blocks <= 40; ++blocks) {
    std::string message(16 * blocks, '\0');
    message[16 * (blocks / 2)] = '\7';
    // Four times 2^128 are 5.
    MacTag sum{};
    sum[0] = static_cast<uint8_t>(7 + blocks / 4 * 5);
    EXPECT_EQ(Tag(key, message), Hex(sum.data(), sum.size())) << blocks;
  }
}

TEST(Poly1305Test, EachBitAndTheLengthCount) {
  const std::string key = Repeated(32, "a7");
  for (const size_t size : {1, 15, 16, 17, 63, 64, 65, 130}) {
    std::string message(size, '\0');
    const std::string tag = Tag(key, message);
    EXPECT_NE(Tag(key, message + std::string(1, '\0')), tag) << size;
    for (size_t bit = 0; bit < 8 * size; ++bit) {
      message[bit / 8] = static_cast<char>(message[bit / 8] ^ 1 << bit % 8);
      EXPECT_NE(Tag(key, message), tag) << size << " " << bit;
      message[bit / 8] = '\0';
    }
  }
}

TEST(FrameMacTest, FramesAreCounted) {
  MacKey key{};
  key.fill(9);
  FrameMac sender(key);
  FrameMac receiver(key);
  const std::string frame = "a frame";
  const MacTag first = sender.Next(frame.data(), frame.size());
  const MacTag second = sender.Next(frame.data(), frame.size());
  EXPECT_NE(first, second);
  EXPECT_TRUE(receiver.Check(frame.data(), frame.size(), first.data()));
  EXPECT_FALSE(receiver.Check(frame.data(), frame.size(), first.data())) << "said again";
  FrameMac other(key);
  EXPECT_FALSE(other.Check(frame.data(), frame.size(), second.data())) << "the first left out";
}

}  // namespace
}  // namespace tony::collective
