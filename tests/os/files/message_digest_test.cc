// HMAC-SHA256 against published vectors.
#include "os/files/message_digest.h"

#include <gtest/gtest.h>

#include "absl/strings/escaping.h"

namespace tony::os {
namespace {

std::string Hex(const std::string& secret, const std::string& message) {
  const auto digest = HmacSha256(secret, message);
  return digest.ok() ? absl::BytesToHexString(*digest) : digest.status().ToString();
}

// RFC 4231, test cases 1, 2, 3 and 6.
TEST(MessageDigestTest, HasThePublishedValues) {
  EXPECT_EQ(Hex(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(Hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(Hex(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(Hex(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

// Python's hmac gives the same.
TEST(MessageDigestTest, TakesEmptySecretsAndMessages) {
  EXPECT_EQ(Hex("", ""), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(MessageDigestTest, ComparesWhole) {
  EXPECT_TRUE(SameDigest("abc", "abc"));
  EXPECT_TRUE(SameDigest("", ""));
  EXPECT_FALSE(SameDigest("abc", "abd"));
  EXPECT_FALSE(SameDigest("bbc", "abc"));
  EXPECT_FALSE(SameDigest("abc", "ab"));
  EXPECT_FALSE(SameDigest("ab", "abc"));
}

}  // namespace
}  // namespace tony::os
