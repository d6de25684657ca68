// Old algorithms against the examples of their standards.
#include "hadoop/auth/legacy_crypto.h"

#include <gtest/gtest.h>

#include "absl/strings/escaping.h"

namespace tony::hadoop {
namespace {

std::string Hex(const std::string& bytes) { return absl::BytesToHexString(bytes); }

TEST(Md5, IsThatOfRfc1321) {
  ASSERT_TRUE(CheckLegacyCrypto().ok());
  EXPECT_EQ(Hex(Md5("")), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(Hex(Md5("message digest")), "f96b697d7cb7938d525a2f31aaf161d0");
}

TEST(HmacMd5, IsThatOfRfc2104) {
  EXPECT_EQ(Hex(HmacMd5(std::string(16, '\x0b'), "Hi There")), "9294727a3638bb1c13f48ef8158bfc9d");
  EXPECT_EQ(Hex(HmacMd5("Jefe", "what do ya want for nothing?")),
            "750c783e6ab0b503eaa86e310a5db738");
  EXPECT_EQ(Hex(HmacMd5(std::string(80, '\xaa'),
                        "Test Using Larger Than Block-Size Key - Hash Key First")),
            "6b1ab7fe4bd7bf8f0b62e6ce61b9d0cd");
}

TEST(Rc4, GoesOnWhereItStopped) {
  Rc4 whole("Key");
  EXPECT_EQ(Hex(*whole.Process("Plaintext")), "bbf316e8d940af0ad3");
  Rc4 pieces("Key");
  EXPECT_EQ(Hex(*pieces.Process("Plain")), "bbf316e8d9");
  EXPECT_EQ(Hex(*pieces.Process("text")), "40af0ad3");
}

// The first block is DES's E(D(E(block xor start))) with keys made of 7 bytes each; of equal keys
// that is DES itself: the key 10 31 6e 02 8c 8f 3b 4a makes 00…00 into 82 dc ba fb de ab 66 02
// (NIST SP 800-17, table A.2).
TEST(TripleDes, IsDesForEqualKeys) {
  const std::string seven = absl::HexStringToBytes("10316e028c8f3b4a");
  std::string packed;
  uint64_t bits = 0;
  for (const char byte : seven) bits = bits << 7 | static_cast<uint8_t>(byte) >> 1;
  for (int shift = 48; shift >= 0; shift -= 8) packed.push_back(static_cast<char>(bits >> shift));
  const std::string key = packed + packed + std::string(2, '\0');
  const std::string start = key.substr(8, 8);
  auto cipher = TripleDes::Create(key, Direction::kEncrypt);
  ASSERT_TRUE(cipher.ok());
  // CBC encrypts the block xor the initialization vector, so a block equal to the vector gives
  // zeros.
  EXPECT_EQ(Hex(*(*cipher)->Process(start)), "82dcbafbdeab6602");
}

TEST(TripleDes, DecryptsWhatItEncryptsOverSeveralCalls) {
  const std::string key = "0123456789abcdef";
  auto encrypt = TripleDes::Create(key, Direction::kEncrypt);
  auto decrypt = TripleDes::Create(key, Direction::kDecrypt);
  ASSERT_TRUE(encrypt.ok() && decrypt.ok());
  for (const char* const text : {"first blockfirst", "the next", "the next"}) {
    EXPECT_EQ(*(*decrypt)->Process(*(*encrypt)->Process(text)), text);
  }
}

}  // namespace
}  // namespace tony::hadoop
