// Limits for users, as an administrator writes them.
#include "jobfile/values/user_shares.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jobfile/values/values.h"

namespace tony::jobfile {
namespace {

using ::testing::HasSubstr;

UserShares Parse(const std::string& text) {
  return ParseUserShares(text, ParseWholeNumber).value();
}

std::vector<std::string> Groups(const std::string& user) {
  if (user == "carol") return {"staff", "students"};
  return user == "dave" ? std::vector<std::string>{"students"} : std::vector<std::string>{};
}

TEST(UserShares, TheMostSpecificShareCounts) {
  const UserShares shares = Parse("4, alice=8, @students=1, @staff=6, dave=0");
  EXPECT_EQ(shares.Of("alice", Groups), 8);
  EXPECT_EQ(shares.Of("bob", Groups), 4);
  EXPECT_EQ(shares.Of("carol", Groups), 6) << "the largest of several groups";
  EXPECT_EQ(shares.Of("dave", Groups), 0) << "a share of one's own may be the lower one";
}

TEST(UserShares, WithoutANumberForEverybodyOthersHaveNoLimit) {
  EXPECT_EQ(Parse("").Of("bob", Groups), std::nullopt);
  EXPECT_EQ(Parse("alice=1").Of("bob", Groups), std::nullopt);
}

TEST(UserShares, MemoryHasUnits) {
  const UserShares shares = ParseUserShares("2g, alice=512m", ParseMemoryMb).value();
  EXPECT_EQ(shares.Of("bob", Groups), 2048);
  EXPECT_EQ(shares.Of("alice", Groups), 512);
}

TEST(UserShares, WhatHasAnotherFormIsNamed) {
  for (const std::string& wrong : {"x", "alice=", "alice=-1", "@=1", "alice=2g", "=3"}) {
    const auto refused = ParseUserShares("1, " + wrong, ParseWholeNumber);
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("'" + wrong + "' is not"));
  }
  for (const std::string& twice : {"1, 2", "a=1, a=2", "@a=1, @a=1"}) {
    const auto refused = ParseUserShares(twice, ParseWholeNumber);
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("is the second of its kind"));
  }
}

}  // namespace
}  // namespace tony::jobfile
