#include "executor/output/progress_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/fake_clock.h"
#include "tests/common/loop_driver.h"

namespace tony::executor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr char kPattern[] = R"(step (?P<step>\d+)(?: loss (?P<loss>\S+))?)";

class ProgressFinderTest : public ::testing::Test {
 protected:
  void Print(const std::string& text, int stream = 0) {
    finder_->Add(stream, text.data(), text.size());
  }
  // Nobody tells when a report was read, so the condition is looked at again and again.
  template <typename Condition>
  bool Await(Condition condition) {
    std::unique_ptr<EventLoop::Handle> timer;
    const std::function<void()> look = [&] {
      driver_.Changed();
      timer = driver_.loop().After(std::chrono::milliseconds(2), look);
    };
    look();
    return driver_.Await(condition);
  }
  int64_t Step() const {
    const auto progress = reports_.progress();
    return progress ? progress->step : -1;
  }

  LoopDriver driver_;
  FakeClock clock_;
  std::vector<std::string> defects_;
  ProgramReports reports_{clock_, [this](const std::string& why) { defects_.push_back(why); }};
  std::unique_ptr<ProgressFinder> finder_ =
      ProgressFinder::Create(driver_.loop(), kPattern, reports_).value();
};

TEST_F(ProgressFinderTest, NamedGroupsAreReports) {
  Print("epoch 1 step 5 loss 0.5\nnothing here\nepoch 1 step 6");
  EXPECT_EQ(Step(), -1) << "lines are looked at later, several together";
  EXPECT_TRUE(Await([&] { return Step() == 5; }));
  Print(" loss 0.25\n");
  EXPECT_TRUE(Await([&] { return Step() == 6; }));
  EXPECT_THAT(reports_.progress()->values, ElementsAre(Pair("loss", 0.25)));
  EXPECT_THAT(reports_.values(), ElementsAre(Pair("loss", "0.25"), Pair("step", "6")));
  EXPECT_THAT(defects_, IsEmpty());
}

TEST_F(ProgressFinderTest, AGroupThatDidNotMatchIsNoReport) {
  Print("step 5 loss 0.5\nstep 6\n");
  finder_->Finish();
  EXPECT_EQ(Step(), 6);
  EXPECT_THAT(reports_.progress()->values, ElementsAre(Pair("loss", 0.5)));
}

TEST_F(ProgressFinderTest, AProgressBarsCarriageReturnEndsALine) {
  Print("  0% step 1\r 50% step 2\r", 1);
  finder_->Finish();
  EXPECT_EQ(Step(), 2);
}

TEST_F(ProgressFinderTest, StreamsDoNotMix) {
  Print("step ", 0);
  Print("12\n", 1);
  Print("3\n", 0);
  finder_->Finish();
  EXPECT_EQ(Step(), 3);
}

TEST_F(ProgressFinderTest, TheUnfinishedLastLineCountsAtTheEnd) {
  Print("step 8");
  finder_->Finish();
  EXPECT_EQ(Step(), 8);
}

TEST_F(ProgressFinderTest, LongLinesAreCut) {
  Print("step 1 " + std::string(ProgressFinder::kMostLineBytes, '.') + " step 2\n");
  Print(std::string(ProgressFinder::kMostLineBytes, '.') + " step 3\n");
  finder_->Finish();
  EXPECT_EQ(Step(), 1);
  Print("step 4 " + std::string(2 * ProgressFinder::kMostLineBytes, '.'));
  EXPECT_TRUE(Await([&] { return Step() == 4; }));
  Print(" step 5\nstep 6\n");
  finder_->Finish();
  EXPECT_EQ(Step(), 6);
  EXPECT_THAT(defects_, IsEmpty());
}

TEST_F(ProgressFinderTest, OfAFloodTheNewestLinesCount) {
  std::string flood;
  for (int step = 0; step < 100'000; ++step) flood += "step " + std::to_string(step) + "\n";
  for (size_t at = 0; at < flood.size(); at += 10'000) Print(flood.substr(at, 10'000));
  finder_->Finish();
  EXPECT_EQ(Step(), 99'999);
  EXPECT_THAT(defects_, IsEmpty()) << "a line was cut where the flood was";
}

TEST_F(ProgressFinderTest, BytesThatAreNoUtf8DoNoHarm) {
  Print("\xff\xfe step 7 loss \xff\n");
  finder_->Finish();
  EXPECT_EQ(Step(), 7);
  EXPECT_THAT(defects_, ElementsAre(HasSubstr("progress-pattern")));
}

TEST(ProgressFinder, BadPatternsAreRefused) {
  EventLoop loop;
  FakeClock clock;
  ProgramReports reports(clock, [](const std::string&) {});
  EXPECT_THAT(ProgressFinder::Create(loop, "step (\\d+", reports).status().message(),
              HasSubstr("missing )"));
  EXPECT_THAT(ProgressFinder::Create(loop, "step (\\d+)", reports).status().message(),
              HasSubstr("no named group"));
}

}  // namespace
}  // namespace tony::executor
