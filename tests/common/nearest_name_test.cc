// Which known name a mistyped word is taken for.
#include "common/nearest_name.h"

#include <gtest/gtest.h>

namespace tony {
namespace {

TEST(EditDistanceTest, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("abc", ""), 3);
  EXPECT_EQ(EditDistance("worker", "worker"), 0);
  EXPECT_EQ(EditDistance("wroker", "worker"), 1);
  EXPECT_EQ(EditDistance("workers", "worker"), 1);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
}

TEST(NearestNameTest, GivesTheClosestThatIsCloseEnough) {
  EXPECT_EQ(NearestName("exectues", {"help", "executes", "conf"}), "executes");
  EXPECT_EQ(NearestName("ps", {"worker", "chief"}), std::nullopt);
  EXPECT_EQ(NearestName("abcdef", {"uvwxyz"}), std::nullopt);
  EXPECT_EQ(NearestName("conf", {}), std::nullopt);
}

TEST(NearestNameTest, TheFirstOfEquallyCloseOnesWins) {
  EXPECT_EQ(NearestName("cat", {"bat", "rat"}), "bat");
}

}  // namespace
}  // namespace tony
