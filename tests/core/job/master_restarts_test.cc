// How restarts of ApplicationMasters are spread.
#include "core/job/master_restarts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "common/fake_clock.h"

namespace tony::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(MasterRestartsTest, OneThatWasKilledIsReplacedAtOnce) {
  MasterRestarts restarts(10);
  EXPECT_EQ(restarts.Next(seconds(0)), Duration::zero());
  EXPECT_EQ(restarts.left(), 9);
  EXPECT_EQ(restarts.used(), 1);
}

TEST(MasterRestartsTest, EachFurtherOneInARowWaitsLonger) {
  MasterRestarts restarts(13);
  std::vector<milliseconds> pauses;
  while (const auto pause = restarts.Next(milliseconds(50))) {
    pauses.push_back(std::chrono::duration_cast<milliseconds>(*pause));
  }
  const auto ms = [](int number) { return milliseconds(number); };
  EXPECT_THAT(pauses,
              testing::ElementsAre(ms(0), ms(200), ms(400), ms(800), ms(1600), ms(2000), ms(2000),
                                   ms(2000), ms(4000), ms(8000), ms(10000), ms(10000), ms(10000)));
  EXPECT_EQ(restarts.left(), 0);
  EXPECT_EQ(restarts.used(), 13);
}

// The default of tony.am.max-restarts against the default of tony.am.reattach-timeout-ms.
TEST(MasterRestartsTest, ADiskThatIsFullForTwentySecondsIsOutlived) {
  FakeClock clock;
  const TimePoint lost = clock.Now();
  MasterRestarts restarts(10);
  int before_executors_leave = 0;
  TimePoint last = lost;
  while (const auto pause = restarts.Next(milliseconds(50))) {
    clock.Advance(*pause + milliseconds(50));
    if (clock.Now() <= lost + seconds(10)) {
      ++before_executors_leave;
      EXPECT_LE(clock.Now() - last, milliseconds(2050)) << "a wait that executors notice";
    }
    last = clock.Now();
  }
  EXPECT_GE(before_executors_leave, 8);
  EXPECT_GE(last - lost, seconds(20));
}

TEST(MasterRestartsTest, AGoodWhileEndsTheRow) {
  MasterRestarts restarts(10);
  for (int i = 0; i < 5; ++i) (void)restarts.Next(seconds(1));
  EXPECT_GT(restarts.Next(MasterRestarts::kGoodWhile - milliseconds(1)), Duration::zero());
  EXPECT_EQ(restarts.Next(MasterRestarts::kGoodWhile), Duration::zero());
  EXPECT_EQ(restarts.Next(seconds(0)), milliseconds(200));
}

TEST(MasterRestartsTest, NobodyIsStartedWithoutABudget) {
  EXPECT_EQ(MasterRestarts(0).Next(seconds(100)), std::nullopt);
}

}  // namespace
}  // namespace tony::core
