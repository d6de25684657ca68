// Hashes of passwords, and which texts are none.
#include "os/files/password_hash.h"

#include <gtest/gtest.h>

namespace tony::os {
namespace {

TEST(PasswordHash, IsOfItsPasswordAlone) {
  const std::string hash = HashPassword("correct horse").value();
  EXPECT_TRUE(IsPasswordHash(hash));
  EXPECT_TRUE(CheckPassword("correct horse", hash).value());
  EXPECT_FALSE(CheckPassword("correct horsE", hash).value());
  EXPECT_FALSE(CheckPassword("", hash).value());
  EXPECT_NE(HashPassword("correct horse").value(), hash) << "each has a salt of its own";
}

// A test vector of RFC 7914, section 12: its first 32 bytes.
TEST(PasswordHash, IsThatOfTheStandard) {
  EXPECT_TRUE(CheckPassword("pleaseletmein",
                            "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$"
                            "cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofI")
                  .value());
}

TEST(PasswordHash, OthersAreNone) {
  const std::string rest = "$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofI";
  EXPECT_TRUE(IsPasswordHash("$scrypt$ln=14,r=8,p=1" + rest));
  for (const char* const costs :
       {"$scrypt$ln=0,r=8,p=1", "$scrypt$ln=18,r=8,p=1", "$scrypt$ln=14,r=0,p=1",
        "$scrypt$ln=14,r=8,p=99", "$scrypt$r=8,ln=14,p=1", "$bcrypt$ln=14,r=8,p=1", "$scrypt$"}) {
    EXPECT_FALSE(IsPasswordHash(costs + rest)) << costs;
    EXPECT_TRUE(absl::IsInvalidArgument(CheckPassword("x", costs + rest).status()));
  }
  for (const char* const text : {"", "secret", "$scrypt$ln=14,r=8,p=1$$", "$$$$"}) {
    EXPECT_FALSE(IsPasswordHash(text)) << text;
  }
}

}  // namespace
}  // namespace tony::os
