// Well-formed UTF-8 stays as it is; every other byte is replaced, by all rows of Unicode's table
// 3-7.
#include "common/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace tony {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";

std::string Bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text.push_back(static_cast<char>(value));
  return text;
}

std::string Replacements(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += kReplacement;
  return text;
}

// The one well-formed sequence of a scalar value, or of what is none in the same manner.
std::string Encode(uint32_t value) {
  const int v = static_cast<int>(value);
  if (v < 0x80) return Bytes({v});
  if (v < 0x800) return Bytes({0xC0 | v >> 6, 0x80 | (v & 0x3F)});
  if (v < 0x10000) return Bytes({0xE0 | v >> 12, 0x80 | (v >> 6 & 0x3F), 0x80 | (v & 0x3F)});
  return Bytes(
      {0xF0 | v >> 18, 0x80 | (v >> 12 & 0x3F), 0x80 | (v >> 6 & 0x3F), 0x80 | (v & 0x3F)});
}

bool IsSurrogate(uint32_t value) { return value >= 0xD800 && value <= 0xDFFF; }

// The value that the payload bits spell, whether or not they may.
uint32_t Decode(const std::string& sequence, int first_mask) {
  uint32_t value = static_cast<uint8_t>(sequence[0]) & static_cast<uint32_t>(first_mask);
  for (size_t i = 1; i < sequence.size(); ++i) {
    value = value << 6 | (static_cast<uint8_t>(sequence[i]) & 0x3F);
  }
  return value;
}

// Well-formed means: what the sequence spells is a scalar value whose encoding it is.
bool IsWellFormed(const std::string& sequence, int first_mask) {
  const uint32_t value = Decode(sequence, first_mask);
  return value <= 0x10FFFF && !IsSurrogate(value) && Encode(value) == sequence;
}

// The expected replacement of a sequence with an invalid first byte: byte for byte, because each
// other byte is also an invalid first byte, or ASCII.
std::string ReplacedByteForByte(const std::string& sequence) {
  std::string text;
  for (const char byte : sequence) {
    text += static_cast<uint8_t>(byte) < 0x80 ? std::string(1, byte) : std::string(kReplacement);
  }
  return text;
}

TEST(Utf8Test, KeepsEveryScalarValue) {
  std::string text;
  for (uint32_t value = 0; value <= 0x10FFFF; ++value) {
    if (!IsSurrogate(value)) text += Encode(value);
  }
  EXPECT_TRUE(ToUtf8(text) == text);  // not EXPECT_EQ, which would print it
  EXPECT_EQ(ToUtf8(""), "");
}

TEST(Utf8Test, JudgesEveryPairOfBytes) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string pair = Bytes({first, second});
      const bool kept = first >= 0xC0 && first < 0xE0 && IsWellFormed(pair, 0x1F);
      ASSERT_EQ(ToUtf8(pair), kept ? pair : ReplacedByteForByte(pair)) << first << " " << second;
    }
  }
}

TEST(Utf8Test, JudgesEverySequenceOfThree) {
  for (int first = 0xE0; first < 0xF0; ++first) {
    for (int second = 0x80; second < 0xC0; ++second) {
      for (const int third : {0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xFF}) {
        const std::string sequence = Bytes({first, second, third});
        const bool kept = IsWellFormed(sequence, 0x0F);
        ASSERT_EQ(ToUtf8(sequence), kept ? sequence : ReplacedByteForByte(sequence))
            << first << " " << second << " " << third;
      }
    }
  }
}

TEST(Utf8Test, JudgesEverySequenceOfFour) {
  for (int first = 0xF0; first < 0x100; ++first) {
    for (int second = 0x80; second < 0xC0; ++second) {
      for (const int third : {0x7F, 0x80, 0xBF, 0xC0}) {
        for (const int fourth : {0x7F, 0x80, 0xBF, 0xFF}) {
          const std::string sequence = Bytes({first, second, third, fourth});
          const bool kept = first < 0xF8 && IsWellFormed(sequence, 0x07);
          ASSERT_EQ(ToUtf8(sequence), kept ? sequence : ReplacedByteForByte(sequence))
              << first << " " << second << " " << third << " " << fourth;
        }
      }
    }
  }
}

TEST(Utf8Test, ReplacesEachByteOfEveryIllFormedClass) {
  const std::vector<std::string> classes = {
      Bytes({0x80}),                    // a continuation byte alone
      Bytes({0xBF}),                    //
      Bytes({0xC0, 0x80}),              // overlong forms of U+0000,
      Bytes({0xC1, 0xBF}),              // U+007F,
      Bytes({0xE0, 0x80, 0x80}),        // U+0000
      Bytes({0xE0, 0x9F, 0xBF}),        // and U+07FF,
      Bytes({0xF0, 0x80, 0x80, 0x80}),  // U+0000
      Bytes({0xF0, 0x8F, 0xBF, 0xBF}),  // and U+FFFF
      Bytes({0xED, 0xA0, 0x80}),        // the first surrogate
      Bytes({0xED, 0xBF, 0xBF}),        // and the last
      Bytes({0xF4, 0x90, 0x80, 0x80}),  // beyond U+10FFFF
      Bytes({0xF5, 0x80, 0x80, 0x80}),  // a first byte that begins nothing
      Bytes({0xFE}),                    //
      Bytes({0xFF}),                    //
      Bytes({0xC2}),                    // cut off after one,
      Bytes({0xE1, 0x80}),              // two
      Bytes({0xF1, 0x80, 0x80}),        // and three bytes
  };
  for (const std::string& bytes : classes) {
    EXPECT_EQ(ToUtf8(bytes), Replacements(bytes.size()));
    EXPECT_EQ(ToUtf8("a" + bytes + "z"), "a" + Replacements(bytes.size()) + "z");
    EXPECT_EQ(ToUtf8(bytes + "\xC3\xA9"), Replacements(bytes.size()) + "\xC3\xA9");
  }
}

TEST(Utf8Test, DoesNotLookPastTheEnd) {
  // The byte behind a std::string is NUL, which continues nothing.
  EXPECT_EQ(ToUtf8("\xE2\x82\xAC\xE2\x82"), "\xE2\x82\xAC" + Replacements(2));
  EXPECT_EQ(ToUtf8(std::string("\xC3\0\xA9", 3)),
            kReplacement + std::string(1, '\0') + kReplacement);
}

}  // namespace
}  // namespace tony
