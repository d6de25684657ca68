// Tests which ranks are waited for, with a fake clock.
#include "collective/watch/arrivals.h"

#include <gtest/gtest.h>

#include "collective/watch/clock_offset.h"

namespace tony::collective {
namespace {

using std::chrono::seconds;
using Times = std::vector<std::chrono::nanoseconds>;

const std::vector<int> kTwo = {0, 1};
const std::vector<int> kThree = {0, 1, 2};

Deadline At(int second) { return Deadline() + seconds(second); }

TEST(ArrivalsTest, TheLastOneIsWaitedFor) {
  Arrivals arrivals(3);
  EXPECT_TRUE(arrivals.Submitted("a", 0, kThree, At(10)));
  EXPECT_FALSE(arrivals.Submitted("a", 2, kThree, At(12)));
  EXPECT_EQ(arrivals.WaitedFor(At(13)), (Times{seconds(0), seconds(1), seconds(0)}));
  arrivals.Submitted("a", 1, kThree, At(17));
  arrivals.Ready("a", At(17));
  EXPECT_EQ(arrivals.WaitedFor(At(99)), (Times{seconds(0), seconds(5), seconds(0)}))
      << "not while two were missing";
  EXPECT_TRUE(arrivals.Submitted("b", 1, kThree, At(100))) << "nothing has waited";
}

TEST(ArrivalsTest, SeveralTensorsThatWaitAtOnceCountOnce) {
  Arrivals arrivals(2);
  for (int tensor = 0; tensor < 10; ++tensor) {
    arrivals.Submitted(std::to_string(tensor), 0, kTwo, At(tensor));
  }
  for (int tensor = 0; tensor < 10; ++tensor) {
    arrivals.Submitted(std::to_string(tensor), 1, kTwo, At(20 + tensor));
    arrivals.Ready(std::to_string(tensor), At(20 + tensor));
  }
  EXPECT_EQ(arrivals.WaitedFor(At(50)), (Times{seconds(0), seconds(29)}));
}

TEST(ArrivalsTest, WhoHasJoinedIsNotMissing) {
  Arrivals arrivals(3);
  arrivals.Submitted("a", 0, kThree, At(1));
  arrivals.Submitted("a", 2, kThree, At(1));
  arrivals.Submitted("b", 0, kThree, At(2));
  arrivals.Joined(2, At(3));
  arrivals.Ready("a", At(4));
  const auto waiting = arrivals.Since(At(9));
  ASSERT_EQ(waiting.size(), 1);
  EXPECT_EQ(waiting[0].missing, std::vector<int>{1}) << "for 'b', since rank 2 has joined";
  EXPECT_EQ(arrivals.WaitedFor(At(5)), (Times{seconds(0), seconds(4), seconds(0)}))
      << "at 'a' from 1 to 4, at 'b' from 3";
  arrivals.Joined(1, At(6));
  arrivals.Ready("b", At(6));
  arrivals.AllJoined();
  EXPECT_EQ(arrivals.WaitedFor(At(99)), (Times{seconds(0), seconds(5), seconds(0)}));
  arrivals.Submitted("c", 1, kThree, At(100));
  EXPECT_EQ(arrivals.Since(At(100))[0].missing, (std::vector<int>{0, 2})) << "all are back";
}

TEST(ArrivalsTest, SinceWhen) {
  Arrivals arrivals(2);
  EXPECT_EQ(arrivals.Oldest(), std::nullopt);
  arrivals.Submitted("late", 1, kTwo, At(7));
  arrivals.Submitted("early", 0, kTwo, At(3));
  EXPECT_EQ(arrivals.Oldest(), At(3));
  EXPECT_TRUE(arrivals.Since(At(2)).empty());
  EXPECT_EQ(arrivals.Since(At(3)).size(), 1);
  const auto both = arrivals.Since(At(7));
  ASSERT_EQ(both.size(), 2);
  EXPECT_EQ(both[0].name, "early");
  EXPECT_EQ(both[0].arrived, std::vector<int>{0});
  EXPECT_EQ(both[0].missing, std::vector<int>{1});
  EXPECT_EQ(both[1].since, At(7));
  arrivals.Ready("of no rank", At(8));
}

TEST(ArrivalsTest, OfASetOnlyItsRanksAreMissing) {
  Arrivals arrivals(4);
  const std::vector<int> set = {1, 2, 3};
  arrivals.Submitted("a of process set 1", 3, set, At(1));
  EXPECT_EQ(arrivals.Since(At(1))[0].missing, (std::vector<int>{1, 2}));
  arrivals.Submitted("a of process set 1", 1, set, At(2));
  EXPECT_EQ(arrivals.WaitedFor(At(5)), (Times{seconds(0), seconds(0), seconds(3), seconds(0)}));
  arrivals.Joined(2, At(6));
  EXPECT_EQ(arrivals.Since(At(6))[0].missing, std::vector<int>{2}) << "it has joined all ranks";
  arrivals.Ready("a of process set 1", At(7));
  EXPECT_EQ(arrivals.WaitedFor(At(9)), (Times{seconds(0), seconds(0), seconds(5), seconds(0)}));
}

TEST(ClockOffsetTest, TheShortestWayCounts) {
  ClockOffset clock;
  clock.Add(1000, 5600, 2000);  // there it is 4100 later, within 500
  EXPECT_EQ(clock.offset(), 4100);
  EXPECT_EQ(clock.error(), 500);
  clock.Add(3000, 9000, 9000);
  EXPECT_EQ(clock.error(), 500) << "a longer way says less";
  clock.Add(10000, 14010, 10020);
  EXPECT_EQ(clock.offset(), 4000);
  EXPECT_EQ(clock.error(), 10);
  EXPECT_EQ(clock.answers(), 3);
}

/// Whatever the two ways take, the truth is within the error.
TEST(ClockOffsetTest, TheErrorIsABound) {
  constexpr int64_t kTruth = -123456;
  for (int64_t there = 0; there <= 40; there += 8) {
    for (int64_t back = 0; back <= 40; back += 8) {
      ClockOffset clock;
      clock.Add(1000, 1000 + there + kTruth, 1000 + there + back);
      EXPECT_LE(std::abs(clock.offset() - kTruth), clock.error()) << there << " " << back;
    }
  }
}

}  // namespace
}  // namespace tony::collective
