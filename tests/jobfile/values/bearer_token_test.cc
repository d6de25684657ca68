// Which texts are tokens.
#include "jobfile/values/bearer_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::jobfile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ParseBearerToken, TakesWhatAHeaderCanCarry) {
  const std::string token = "AZaz09-._~+/abcdefghijklmnopqrs=";
  ASSERT_EQ(token.size(), kShortestToken);
  EXPECT_EQ(ParseBearerToken(" " + token + "\n", "f").value(), token);
}

TEST(ParseBearerToken, RefusesOthersWithoutQuotingThem) {
  for (const std::string& text :
       {std::string(), std::string(kShortestToken - 1, 'a'), std::string(kLongestToken + 1, 'a'),
        std::string(40, 'a') + " " + std::string(40, 'b'), std::string(40, 'a') + "\"",
        std::string(40, 'a') + "\r\nX: y", std::string(40, '\xff')}) {
    const absl::Status refused = ParseBearerToken(text, "/etc/token").status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << text;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("/etc/token"));
    EXPECT_THAT(std::string(refused.message()), HasSubstr("openssl rand -hex 32"));
    EXPECT_THAT(std::string(refused.message()), Not(HasSubstr("aaa")));
  }
}

}  // namespace
}  // namespace tony::jobfile
