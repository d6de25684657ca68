// Tests which of several failures is the cause.
#include "core/judge/root_cause.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <random>

#include "core/judge/failure_kind.h"
#include "core/tasks/arrival_dates.h"

namespace tony::core {
namespace {

using Cause = TaskExit::Cause;

/// A failure of worker:`index` on host h`host`, `ended` ms after some time; negative: not known.
TaskFailure Failed(int index, int host, int64_t ended, Cause cause = Cause::kExited,
                   const std::string& line = "") {
  TaskFailure failure;
  failure.task = {"worker", index};
  failure.host_id = "h" + std::to_string(host);
  failure.exit.cause = cause;
  if (cause == Cause::kExited) failure.exit.code = 1;
  if (cause == Cause::kSignaled) failure.exit.signal = SIGKILL;
  if (!line.empty()) failure.exit.tail = {line};
  failure.exit.ended_millis = ended < 0 ? 0 : 1'700'000'000'000 + ended;
  return failure;
}

TaskFailure Victim(int index, int host, int64_t ended) {
  return Failed(index, host, ended, Cause::kExited, "read: Connection reset by peer");
}

TaskFailure Killed(int index, int host, int64_t ended) {
  return Failed(index, host, ended, Cause::kSignaled);
}

int GuiltyOf(const std::vector<TaskFailure>& failures) {
  return failures[RootCauseOf(failures)].task.index;
}

TEST(RootCauseTest, TheOnlyFailureIsTheCause) {
  EXPECT_EQ(GuiltyOf({Victim(4, 0, 0)}), 4);
  EXPECT_EQ(GuiltyOf({Failed(4, 0, -1, Cause::kStopped)}), 4);
}

TEST(RootCauseTest, TheKindComesBeforeTheTime) {
  const TaskFailure lost = Failed(0, 0, -1, Cause::kLost);
  const TaskFailure killed = Killed(1, 1, 9000);
  const TaskFailure unexplained = Failed(2, 2, 6000);
  const TaskFailure victim = Victim(3, 3, 3000);
  const TaskFailure stopped = Failed(4, 4, 0, Cause::kStopped);
  std::vector<TaskFailure> failures = {stopped, victim, unexplained, killed, lost};
  for (int guilty : {0, 1, 2, 3, 4}) {
    EXPECT_EQ(GuiltyOf(failures), guilty);
    failures.pop_back();
  }
}

TEST(RootCauseTest, OnOneHostTheClockDecidesToTheMillisecond) {
  EXPECT_EQ(GuiltyOf({Killed(1, 0, 11), Killed(2, 0, 10), Killed(3, 0, 12)}), 2);
  EXPECT_EQ(GuiltyOf({Killed(1, 0, 10), Killed(2, 0, 10)}), 1);
}

TEST(RootCauseTest, BetweenHostsTheOrderOfReportDecidesWithinTheTolerance) {
  EXPECT_EQ(GuiltyOf({Killed(1, 0, kArrivalToleranceMillis), Killed(2, 1, 0)}), 1);
  EXPECT_EQ(GuiltyOf({Killed(1, 0, kArrivalToleranceMillis + 1), Killed(2, 1, 0)}), 2);
}

TEST(RootCauseTest, OnOneHostItsOwnClockComesBeforeTheWayOfMessages) {
  TaskFailure delayed = Killed(1, 0, 40), prompt = Killed(2, 0, 20);
  delayed.exit.host_millis = 1000;
  prompt.exit.host_millis = 1010;
  EXPECT_EQ(GuiltyOf({prompt, delayed}), 1);
  delayed.exit.host_millis = 0;  // not known
  EXPECT_EQ(GuiltyOf({prompt, delayed}), 2);
}

TEST(RootCauseTest, ClocksOfDifferentHostsAreNotCompared) {
  TaskFailure first = Killed(1, 0, 0), second = Killed(2, 1, 5000);
  first.exit.host_millis = 9'000'000;
  second.exit.host_millis = 1000;
  EXPECT_EQ(GuiltyOf({second, first}), 1);
}

TEST(RootCauseTest, OfTheHostReportedFirstTheEarliestIsChosen) {
  EXPECT_EQ(GuiltyOf({Killed(1, 0, 500), Killed(2, 1, 0), Killed(3, 0, 400)}), 3);
  EXPECT_EQ(GuiltyOf({Killed(1, 0, 5000), Killed(2, 1, 700), Killed(3, 2, 0), Killed(4, 1, 600)}),
            4);
}

TEST(RootCauseTest, AnUnknownEndIsThatOfTheOneReportedBefore) {
  EXPECT_EQ(GuiltyOf({Failed(1, 0, -1, Cause::kLost), Failed(2, 0, -1, Cause::kLost)}), 1);
  EXPECT_EQ(GuiltyOf({Killed(1, 0, 5000), Killed(2, 0, -1), Killed(3, 1, 100)}), 3);
  EXPECT_EQ(GuiltyOf({Victim(1, 0, 100), Killed(2, 1, -1), Killed(3, 1, 5000)}), 2);
  EXPECT_EQ(GuiltyOf({Killed(1, 0, -1), Killed(2, 1, 0)}), 1);
}

TEST(RootCauseTest, AWorkerAmongManyVictimsIsFoundHoweverLateItIsHeardOf) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    std::vector<TaskFailure> failures = {Killed(0, 0, 1000)};
    for (int i = 1; i < 30; ++i) {
      failures.push_back(Victim(i, static_cast<int>(random() % 4), random() % 3000));
    }
    std::shuffle(failures.begin(), failures.end(), random);
    ASSERT_EQ(GuiltyOf(failures), 0) << "seed " << seed;
  }
}

TEST(RootCauseTest, TheGuiltyOneIsOfTheGuiltiestKindAndNotLaterThanTheTolerance) {
  constexpr Cause kCauses[] = {Cause::kExited, Cause::kSignaled, Cause::kLost, Cause::kStopped};
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    std::vector<TaskFailure> failures;
    for (unsigned i = 0; i <= random() % 6; ++i) {
      const auto host = static_cast<int>(random() % 3);
      failures.push_back(random() % 3 == 0 ? Victim(static_cast<int>(i), host, random() % 4000)
                                           : Failed(static_cast<int>(i), host, random() % 4000,
                                                    kCauses[random() % std::size(kCauses)]));
    }
    const TaskFailure& guilty = failures[RootCauseOf(failures)];
    for (const TaskFailure& other : failures) {
      ASSERT_LE(KindOf(guilty.exit), KindOf(other.exit)) << "seed " << seed;
      if (KindOf(guilty.exit) != KindOf(other.exit)) continue;
      const int64_t later = guilty.exit.ended_millis - other.exit.ended_millis;
      ASSERT_LE(later, guilty.host_id == other.host_id ? 0 : kArrivalToleranceMillis)
          << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace tony::core
