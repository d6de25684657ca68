// Clocks that are right, wrong for a while, and set back.
#include "client/jobs/seen_time.h"

#include <gtest/gtest.h>

#include "tests/client/job_folders.h"

namespace tony::client {
namespace {

constexpr int64_t kHour = 3600 * int64_t{1000};
constexpr int64_t kDay = 24 * kHour;
constexpr int64_t kStart = 1'700'000'000'000;

/// Submissions to one machine, whose true time and clock differ by what the test says. Not thread
/// safe.
class Machine {
 public:
  void Pass(int64_t millis) { true_time_ += millis; }
  void Boot() { booted_at_ = true_time_, ++boots_; }
  void SetClockAhead(int64_t millis) { ahead_ = millis; }
  int64_t true_time() const { return true_time_; }
  int64_t Submit() {
    const ClockReading now{true_time_ + ahead_, std::to_string(boots_), true_time_ - booted_at_};
    return SeeTime(now, &seen_);
  }

 private:
  SeenTime seen_;
  int64_t true_time_ = kStart;
  int64_t booted_at_ = kStart;
  int64_t ahead_ = 0;
  int boots_ = 1;
};

TEST(SeenTime, IsKnownFromTheSecondDayOn) {
  Machine machine;
  EXPECT_EQ(machine.Submit(), 0);
  machine.Pass(kDay - 1);
  EXPECT_EQ(machine.Submit(), 0);
  machine.Pass(1);
  EXPECT_EQ(machine.Submit(), machine.true_time());
  // From now on the uptime tells, however rarely somebody submits.
  for (const int64_t pause : {kHour, 100 * kDay, kHour}) {
    machine.Pass(pause);
    EXPECT_EQ(machine.Submit(), machine.true_time());
  }
}

TEST(SeenTime, AClockThatIsAheadForLessThanADayIsNotBelieved) {
  Machine machine;
  machine.Submit();
  machine.Pass(kDay);
  machine.Submit();
  for (int day = 0; day < 50; ++day) {
    machine.SetClockAhead(day % 7 == 3 ? 31 * kDay : 0);
    for (int hours = 0; hours < 23; ++hours) {
      machine.Pass(kHour);
      EXPECT_LE(machine.Submit(), machine.true_time());
    }
    machine.SetClockAhead(0);
    machine.Pass(kHour);
    EXPECT_EQ(machine.Submit(), machine.true_time());
  }
}

TEST(SeenTime, AClockThatWasAheadAtTheVeryFirstSubmissionIsNotBelieved) {
  Machine machine;
  machine.SetClockAhead(31 * kDay);
  EXPECT_EQ(machine.Submit(), 0);
  machine.SetClockAhead(0);
  machine.Pass(2 * kDay);
  EXPECT_EQ(machine.Submit(), 0);
  machine.Pass(kDay);
  EXPECT_EQ(machine.Submit(), machine.true_time());
}

TEST(SeenTime, AClockThatWasAheadBetweenTwoBootsIsNotBelieved) {
  Machine machine;
  machine.Submit();
  machine.Pass(kDay);
  machine.Submit();
  machine.Boot();
  machine.SetClockAhead(31 * kDay);
  machine.Pass(kHour);
  EXPECT_LE(machine.Submit(), machine.true_time());
  machine.Boot();
  machine.SetClockAhead(0);
  for (int day = 0; day < 40; ++day) {
    machine.Pass(kDay);
    EXPECT_LE(machine.Submit(), machine.true_time());
  }
  EXPECT_EQ(machine.Submit(), machine.true_time());
}

TEST(SeenTime, AMachineThatIsOffInBetweenLagsBehindByOneSubmission) {
  Machine machine;
  int64_t last = machine.true_time();
  machine.Submit();
  for (const int days : {3, 90, 2, 1}) {
    machine.Pass(days * kDay);
    machine.Boot();
    EXPECT_EQ(machine.Submit(), last);
    last = machine.true_time();
  }
}

TEST(SeenTime, AClockThatIsSetBackMovesNothingEither) {
  Machine machine;
  machine.Submit();
  machine.Pass(kDay);
  machine.Submit();
  machine.SetClockAhead(-kStart);  // a battery that is empty
  machine.Boot();
  EXPECT_LT(machine.Submit(), kStart);
  machine.SetClockAhead(0);
  machine.Pass(kHour);
  EXPECT_LE(machine.Submit(), machine.true_time());
  machine.Pass(kDay);  // what was noted of 1970 is confirmed
  EXPECT_LE(machine.Submit(), machine.true_time());
  machine.Pass(kDay);
  EXPECT_EQ(machine.Submit(), machine.true_time());
}

TEST(SeenTime, IsKeptInAFileThatMayBeLost) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/clock.json";
  const ClockReading first{kStart, "boot", 5};
  const ClockReading second{kStart + kDay, "boot", 5 + kDay};
  EXPECT_EQ(SeeTime(first, path).value(), 0);
  EXPECT_EQ(SeeTime(second, path).value(), kStart + kDay);
  for (const char* const damaged :
       {"", "{", "[]", R"({"known":{"wall_millis":"x"}})", "null", "7"}) {
    std::ofstream(path) << damaged;
    EXPECT_EQ(SeeTime(second, path).value(), 0) << damaged;
  }
  EXPECT_FALSE(SeeTime(first, folder.path() + "/none/clock.json").ok());
}

TEST(SeenTime, TheMachinesClocksRun) {
  const ClockReading one = ReadClocks(7);
  const ClockReading two = ReadClocks(8);
  EXPECT_EQ(one.wall_millis, 7);
  EXPECT_FALSE(one.boot_id.empty());
  EXPECT_EQ(one.boot_id, two.boot_id);
  EXPECT_GT(one.uptime_millis, 0);
  EXPECT_LE(one.uptime_millis, two.uptime_millis);
}

}  // namespace
}  // namespace tony::client
