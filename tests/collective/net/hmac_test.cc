// Published vectors of SHA-256 and of HMAC-SHA256.
#include "collective/net/hmac.h"

#include <gtest/gtest.h>

#include <string>

namespace tony::collective {
namespace {

std::string Hex(const Digest& digest) {
  std::string text;
  for (const uint8_t byte : digest) {
    for (const int half : {byte >> 4, byte & 15}) text += "0123456789abcdef"[half];
  }
  return text;
}

/// FIPS 180-4's examples, and their files of long messages.
TEST(Sha256Test, PublishedVectors) {
  EXPECT_EQ(Hex(Sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Hex(Sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Hex(Sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Hex(Sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                       "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu")),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(Hex(Sha256(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/// RFC 4231: all of its test cases but the truncated one.
TEST(HmacTest, PublishedVectors) {
  EXPECT_EQ(Hex(Hmac(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(Hex(Hmac("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(Hex(Hmac(std::string(20, '\xaa'), std::string(50, '\xdd'))),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  std::string counted;
  for (char byte = 1; byte <= 25; ++byte) counted += byte;
  EXPECT_EQ(Hex(Hmac(counted, std::string(50, '\xcd'))),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
  EXPECT_EQ(
      Hex(Hmac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(Hex(Hmac(std::string(131, '\xaa'),
                     "This is a test using a larger than block-size key and a larger than "
                     "block-size data. The key needs to be hashed before being used by the HMAC "
                     "algorithm.")),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(HmacTest, ListsOfFieldsAreOneMessageEach) {
  const Digest digest = Hmac("key", {"ab", "c"});
  EXPECT_EQ(digest, Hmac("key", {"ab", "c"}));
  EXPECT_NE(digest, Hmac("key", {"a", "bc"}));
  EXPECT_NE(digest, Hmac("key", {"abc"}));
  EXPECT_NE(digest, Hmac("key", {"ab", "c", ""}));
  EXPECT_NE(digest, Hmac("key", {"c", "ab"}));
  EXPECT_NE(digest, Hmac("Key", {"ab", "c"}));
}

/// RFC 5869, appendix A.1 and A.3: the first 32 bytes.
TEST(DeriveKeyTest, PublishedVectors) {
  std::string salt;
  for (char byte = 0; byte <= 12; ++byte) salt += byte;
  EXPECT_EQ(
      Hex(DeriveKey(std::string(22, '\x0b'), salt, "\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9")),
      "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf");
  EXPECT_EQ(Hex(DeriveKey(std::string(22, '\x0b'), "", "")),
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d");
}

TEST(HmacTest, EachBitCounts) {
  const Digest digest = Hmac("key", "message");
  EXPECT_TRUE(AreSame(digest, Hmac("key", "message")));
  for (size_t bit = 0; bit < digest.size() * 8; ++bit) {
    Digest other = digest;
    other[bit / 8] ^= static_cast<uint8_t>(1U << bit % 8);
    EXPECT_FALSE(AreSame(digest, other)) << bit;
  }
}

}  // namespace
}  // namespace tony::collective
