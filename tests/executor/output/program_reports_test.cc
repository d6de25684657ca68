#include "executor/output/program_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/fake_clock.h"

namespace tony::executor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class ProgramReportsTest : public ::testing::Test {
 protected:
  const std::map<std::string, std::string>& Read(const std::string& text) {
    reports_.AddBytes(text.data(), text.size());
    return reports_.values();
  }

  FakeClock clock_;
  std::vector<std::string> defects_;
  ProgramReports reports_{clock_, [this](const std::string& why) { defects_.push_back(why); }};
};

TEST_F(ProgramReportsTest, TheLastValueOfEachNameCounts) {
  EXPECT_THAT(Read("step=1 loss=2.5\nstep=2\n"),
              ElementsAre(Pair("loss", "2.5"), Pair("step", "2")));
  EXPECT_EQ(reports_.progress()->step, 2);
  EXPECT_THAT(reports_.progress()->values, ElementsAre(Pair("loss", 2.5)));
  EXPECT_THAT(defects_, IsEmpty());
}

TEST_F(ProgramReportsTest, ALineMayComeInPieces) {
  for (const char byte : std::string("val/acc=0.5\n")) {
    EXPECT_THAT(reports_.values(), IsEmpty());
    reports_.AddBytes(&byte, 1);
  }
  EXPECT_THAT(reports_.values(), ElementsAre(Pair("val/acc", "0.5")));
  EXPECT_THAT(Read("unfinished=1"), SizeIs(1));
}

TEST_F(ProgramReportsTest, WhatCannotBeReadIsCountedAndNotedOnce) {
  EXPECT_EQ(reports_.progress(), std::nullopt);
  EXPECT_THAT(Read("step = 1\x1b[2J\n"), IsEmpty());
  EXPECT_EQ(reports_.progress()->unread_lines, 1);
  EXPECT_EQ(reports_.progress()->step, -1);
  EXPECT_THAT(defects_,
              ElementsAre(AllOf(HasSubstr(R"(cannot be read: "step" in "step = 1\x1b[2J")"),
                                HasSubstr("write NAME=VALUE"))));
  EXPECT_THAT(Read("step=two\nword loss=1\n\nloss=2\n"), SizeIs(2));
  EXPECT_EQ(reports_.progress()->unread_lines, 3);
  EXPECT_THAT(defects_, SizeIs(1));
}

TEST_F(ProgramReportsTest, AWrongStepIsNamed) {
  Read("loss=1 step=two\n");
  EXPECT_THAT(defects_, ElementsAre(HasSubstr(R"("step=two" in "loss=1 step=two")")));
}

TEST_F(ProgramReportsTest, ALongLineIsNotRead) {
  Read(std::string(core::kMostReportLineBytes, ' ') + "a=1\nb=2\n");
  EXPECT_THAT(reports_.values(), ElementsAre(Pair("b", "2")));
  EXPECT_THAT(defects_, ElementsAre(HasSubstr("more than 4096 bytes")));
  // A line of just the limit is read, also in pieces.
  const std::string value = "c=1";
  Read(std::string(core::kMostReportLineBytes - value.size(), ' '));
  EXPECT_THAT(Read(value + "\n"), SizeIs(2));
}

TEST_F(ProgramReportsTest, ReadingGoesOnWithTheNextLineAfterAGap) {
  Read("a=1\nb=");
  reports_.SkipLine();
  EXPECT_THAT(Read("2 c=3\nd=4\n"), ElementsAre(Pair("a", "1"), Pair("d", "4")));
  EXPECT_THAT(defects_, IsEmpty());
}

TEST_F(ProgramReportsTest, EverythingHasALimit) {
  EXPECT_THAT(Read("a=" + std::string(ReportedValues::kMostValueBytes + 1, 'x') + "\n"), IsEmpty());
  std::string many;
  for (int i = 0; i < 100; ++i) many += "n" + std::to_string(i) + "=1\n";
  EXPECT_THAT(Read(many + "n0=2\n"), SizeIs(ReportedValues::kMostNames));
  EXPECT_EQ(reports_.values().at("n0"), "2");
  EXPECT_THAT(reports_.progress()->values, SizeIs(core::ProgressTracker::kMostValues));
}

TEST_F(ProgramReportsTest, MatchesInTheLogCountLikeReports) {
  reports_.Arrive();
  reports_.AddMatch({{{"step", "7"}, {"loss", "0.5"}}, ""}, "it 7: 0.5");
  EXPECT_EQ(reports_.progress()->step, 7);
  EXPECT_THAT(reports_.values(), ElementsAre(Pair("loss", "0.5"), Pair("step", "7")));
  reports_.AddMatch({{{"step", "many"}}, ""}, "it many");
  EXPECT_THAT(defects_, ElementsAre(AllOf(HasSubstr("tony.task.progress-pattern"),
                                          HasSubstr(R"("step=many" in "it many")"))));
}

}  // namespace
}  // namespace tony::executor
