// A driver that beats, one that hangs, and one that is suspended.
#include "executor/horovod/driver_watch.h"

#include <gtest/gtest.h>

#include "tests/common/loop_driver.h"

namespace tony::executor {
namespace {

class DriverWatchTest : public ::testing::Test {
 protected:
  /// Called at each check, before it is counted, with the number of checks so far.
  void Watch(std::function<bool(int)> is_suspended) {
    watch_ = std::make_unique<DriverWatch>(
        driver_.loop(), DriverWatch::Pace{std::chrono::milliseconds(1), 3},
        [this, is_suspended = std::move(is_suspended)] {
          driver_.Changed();
          return is_suspended(++looks_);
        },
        [this] {
          ++silent_;
          driver_.Changed();
        });
  }
  bool AwaitSilence() {
    return driver_.Await([this] { return silent_ > 0; });
  }

  LoopDriver driver_;
  std::unique_ptr<DriverWatch> watch_;
  int looks_ = 0;
  int silent_ = 0;
};

TEST_F(DriverWatchTest, OneThatHangsIsTold) {
  Watch([](int) { return false; });
  watch_->OnBeat();
  ASSERT_TRUE(AwaitSilence());
  EXPECT_EQ(looks_, 4) << "the first one is soon after the beat";
  // Nothing is left to look at.
  watch_.reset();
  EXPECT_EQ(silent_, 1);
}

TEST_F(DriverWatchTest, BeforeTheFirstBeatNothingIsCounted) {
  Watch([](int) { return false; });
  const auto later = driver_.loop().After(std::chrono::milliseconds(50), [this] {
    EXPECT_EQ(looks_, 0);
    watch_->OnBeat();
  });
  ASSERT_TRUE(AwaitSilence());
}

TEST_F(DriverWatchTest, EachBeatBeginsTheCountAnew) {
  Watch([this](int look) {
    if (look % 3 == 0 && look <= 30) driver_.loop().Post([this] { watch_->OnBeat(); });
    return false;
  });
  watch_->OnBeat();
  ASSERT_TRUE(AwaitSilence());
  EXPECT_EQ(looks_, 34);
}

// The lease of its executor had run out.
TEST_F(DriverWatchTest, OneThatIsSuspendedDoesNotHang) {
  Watch([](int look) { return look <= 20; });
  watch_->OnBeat();
  ASSERT_TRUE(AwaitSilence());
  EXPECT_EQ(looks_, 24);
}

}  // namespace
}  // namespace tony::executor
