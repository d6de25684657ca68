#include "executor/output/reported_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::executor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

std::map<std::string, std::string> Read(const std::string& text) {
  ReportedValues values;
  values.Add(text.data(), text.size());
  return values.values();
}

TEST(ReportedValuesTest, TheLastValueOfEachNameCounts) {
  EXPECT_THAT(Read("step=1 loss=2.5\nstep=2\n"),
              ElementsAre(Pair("loss", "2.5"), Pair("step", "2")));
}

TEST(ReportedValuesTest, ALineMayComeInPieces) {
  ReportedValues values;
  for (const char byte : std::string("val/acc=0.5\n")) {
    EXPECT_THAT(values.values(), IsEmpty());
    values.Add(&byte, 1);
  }
  EXPECT_THAT(values.values(), ElementsAre(Pair("val/acc", "0.5")));
}

TEST(ReportedValuesTest, QuotesKeepSpaces) {
  EXPECT_THAT(Read("a=\"x y\" b=\"\" c=\"open\n"),
              ElementsAre(Pair("a", "x y"), Pair("b", ""), Pair("c", "open")));
}

TEST(ReportedValuesTest, WhatIsNoPairIsLeftOut) {
  EXPECT_THAT(Read("word =x \t n\xc3\xa4me=1 a=\x1b[0m b=\xff ok=1\n"),
              ElementsAre(Pair("ok", "1")));
  EXPECT_THAT(Read("unfinished=1"), IsEmpty());
}

TEST(ReportedValuesTest, EverythingHasALimit) {
  EXPECT_THAT(Read("a=" + std::string(ReportedValues::kMostValueBytes + 1, 'x') + "\n"), IsEmpty());
  EXPECT_THAT(Read(std::string(ReportedValues::kMostNameBytes + 1, 'x') + "=1\n"), IsEmpty());
  EXPECT_THAT(Read(std::string(ReportedValues::kMostLineBytes, ' ') + "a=1\nb=2\n"),
              ElementsAre(Pair("b", "2")));
  std::string many;
  for (int i = 0; i < 100; ++i) many += "n" + std::to_string(i) + "=1\n";
  EXPECT_THAT(Read(many + "n0=2\n"), SizeIs(ReportedValues::kMostNames));
  EXPECT_EQ(Read(many + "n0=2\n").at("n0"), "2");
}

}  // namespace
}  // namespace tony::executor
