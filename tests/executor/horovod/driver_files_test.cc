// A driver's files as they come: whole, bit by bit, and wrong.
#include "executor/horovod/driver_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/rendezvous/plan_text.h"
#include "os/files/files.h"
#include "tests/common/loop_driver.h"
#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

using ::testing::HasSubstr;

class DriverFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto files = DriverFiles::Watch(driver_.loop(), watched_,
                                    {[this](const auto& plan) {
                                       EXPECT_FALSE(plan_.has_value()) << "a second plan";
                                       plan_ = plan;
                                       driver_.Changed();
                                     },
                                     [this](const core::RendezvousWait& wait) {
                                       waits_.push_back(wait);
                                       driver_.Changed();
                                     },
                                     [this] {
                                       ++beats_;
                                       driver_.Changed();
                                     }});
    ASSERT_TRUE(files.ok()) << files.status();
    files_ = *std::move(files);
  }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(os::WriteFileAtomically(watched_ + "/" + name, text).ok());
  }
  bool AwaitPlan() {
    return driver_.Await([this] { return plan_.has_value(); });
  }

  const std::vector<core::Slot> slots_ = core::PlanSlots({{"a", 2}}, 2).value();
  os::TemporaryFolder folder_;
  const std::string watched_ = folder_ / "deep/driver";
  LoopDriver driver_;
  std::optional<absl::StatusOr<core::RendezvousPlan>> plan_;
  std::vector<core::RendezvousWait> waits_;
  int beats_ = 0;
  std::unique_ptr<DriverFiles> files_;
};

TEST_F(DriverFilesTest, APlanWithItsPort) {
  Write(core::PlanFileName(4711), core::FormatPlan({0, true, slots_}));
  ASSERT_TRUE(AwaitPlan());
  ASSERT_TRUE(plan_->ok()) << plan_->status();
  EXPECT_EQ((*plan_)->port, 4711);
  EXPECT_EQ((*plan_)->slots, slots_);
}

TEST_F(DriverFilesTest, APlanThatIsWrittenBitByBit) {
  const std::string text = core::FormatPlan({0, true, slots_});
  std::ofstream file(watched_ + "/" + core::PlanFileName(4711));
  file << text.substr(0, 10) << std::flush;
  Write("another", "file");
  Write(core::kWaitFileName, core::FormatWait({"it has seen the first half", {}}));
  ASSERT_TRUE(driver_.Await([this] { return !waits_.empty(); }));
  EXPECT_FALSE(plan_.has_value());
  file << text.substr(10) << std::flush;
  ASSERT_TRUE(AwaitPlan());
  EXPECT_TRUE(plan_->ok()) << plan_->status();
}

TEST_F(DriverFilesTest, APlanThatMakesNoSense) {
  Write(core::PlanFileName(4711), "no plan");
  ASSERT_TRUE(AwaitPlan());
  ASSERT_TRUE(absl::IsInvalidArgument(plan_->status())) << plan_->status();
  EXPECT_THAT(std::string(plan_->status().message()), HasSubstr("cannot be read"));
}

TEST_F(DriverFilesTest, APlanWithoutAPort) {
  Write(core::PlanFileName(65536), core::FormatPlan({0, true, slots_}));
  ASSERT_TRUE(AwaitPlan());
  ASSERT_TRUE(absl::IsInvalidArgument(plan_->status())) << plan_->status();
  EXPECT_THAT(std::string(plan_->status().message()), HasSubstr("named after no port"));
}

TEST_F(DriverFilesTest, WhoIsWaitedFor) {
  const core::RendezvousWait wait{"worker:1 has put nothing", {"worker:1"}};
  Write(core::kWaitFileName, "not one of tony's");
  Write(core::kWaitFileName, core::FormatWait(wait));
  ASSERT_TRUE(driver_.Await([this] { return waits_.size() == 1; }));
  Write(core::kWaitFileName, core::FormatWait({}));
  ASSERT_TRUE(driver_.Await([this] { return waits_.size() == 2; }));
  EXPECT_EQ(waits_, (std::vector<core::RendezvousWait>{wait, {}}));
}

TEST_F(DriverFilesTest, EachBeatIsHeard) {
  for (int beat = 1; beat <= 3; ++beat) {
    const int before = beats_;
    std::ofstream(watched_ + "/" + core::kBeatFileName);
    ASSERT_TRUE(driver_.Await([&] { return beats_ > before; })) << beat;
  }
}

// A plan of the last epoch is not one of this.
TEST_F(DriverFilesTest, TheFolderIsEmptiedFirst) {
  Write(core::PlanFileName(1), core::FormatPlan({0, true, slots_}));
  ASSERT_TRUE(AwaitPlan());
  plan_.reset();
  SetUp();
  EXPECT_FALSE(std::ifstream(watched_ + "/" + core::PlanFileName(1)).is_open());
  Write(core::PlanFileName(2), core::FormatPlan({0, true, slots_}));
  ASSERT_TRUE(AwaitPlan());
  EXPECT_EQ((*plan_)->port, 2);
}

}  // namespace
}  // namespace tony::executor
