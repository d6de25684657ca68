// The ranges of acknowledged partitions.
#include "core/feed/partition_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

namespace tony::core {
namespace {

using ::testing::ElementsAre;

TEST(PartitionSet, JoinsNeighbours) {
  PartitionSet set;
  EXPECT_EQ(set.Add(0, 0, 0), 1u);
  EXPECT_EQ(set.Add(0, 2, 2), 1u);
  EXPECT_EQ(set.ranges(), 2u);
  EXPECT_EQ(set.Add(0, 1, 1), 1u);
  EXPECT_THAT(set.Ranges("train"), ElementsAre(FeedRange{"train", 0, 0, 2}));
  EXPECT_EQ(set.Add(0, 1, 1), 0u);
  EXPECT_TRUE(set.Contains(0, 2));
  EXPECT_FALSE(set.Contains(0, 3));
  EXPECT_FALSE(set.Contains(1, 0));
}

TEST(PartitionSet, TakesRangesThatNobodyShouldSend) {
  PartitionSet set;
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(set.Add(0, 5, 4), 0u);
  EXPECT_EQ(set.Add(0, -1, 4), 0u);
  EXPECT_EQ(set.Add(0, 0, kMost), uint64_t{1} << 63);
  EXPECT_EQ(set.Add(0, kMost, kMost), 0u);
  EXPECT_TRUE(set.Contains(0, kMost));
  EXPECT_FALSE(set.Contains(0, -1));
}

TEST(PartitionSet, IsWhatASetWouldBe) {
  std::mt19937 random(1);
  PartitionSet set;
  std::set<int64_t> plain;
  for (int turn = 0; turn < 2000; ++turn) {
    const int64_t first = static_cast<int64_t>(random() % 300);
    const int64_t last = first + static_cast<int64_t>(random() % 4);
    const size_t before = plain.size();
    for (int64_t number = first; number <= last; ++number) plain.insert(number);
    ASSERT_EQ(set.Add(3, first, last), plain.size() - before);
    for (int64_t number = 0; number < 310; ++number) {
      ASSERT_EQ(set.Contains(3, number), plain.count(number) > 0) << number;
    }
  }
}

TEST(PartitionSet, ForgetsTheOldestEpochs) {
  PartitionSet set;
  for (int64_t epoch = 0; epoch < 10'000; ++epoch) set.Add(epoch, 0, 7);
  EXPECT_EQ(set.ranges(), PartitionSet::kMostEpochs);
  EXPECT_TRUE(set.Contains(9'999, 7));
  EXPECT_FALSE(set.Contains(0, 0));
}

TEST(PartitionSet, IsBoundedWithinEpochs) {
  PartitionSet set;
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    for (int64_t number = 0; number < 80'000; number += 2) set.Add(epoch, number, number);
  }
  EXPECT_LE(set.ranges(), PartitionSet::kMostRanges);
  EXPECT_TRUE(set.Contains(3, 0));
}

// As for Spark's tasks, each of which a worker gets every third one of.
TEST(PartitionSet, IsBoundedWithinOneEpoch) {
  PartitionSet set;
  constexpr int64_t kLast = 3 * (static_cast<int64_t>(PartitionSet::kMostRanges) + 1000);
  for (int64_t number = 0; number <= kLast; number += 3) EXPECT_EQ(set.Add(0, number, number), 1u);
  EXPECT_EQ(set.ranges(), PartitionSet::kMostRanges);
  EXPECT_EQ(set.Ranges("train").size(), PartitionSet::kMostRanges);
  EXPECT_TRUE(set.Contains(0, kLast));
  EXPECT_FALSE(set.Contains(0, 0));
}

}  // namespace
}  // namespace tony::core
