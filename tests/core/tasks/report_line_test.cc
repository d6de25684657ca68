#include "core/tasks/report_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace tony::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ReportLineTest, PairsStandBetweenSpaces) {
  const ReportLine line = ParseReportLine(" step=120  loss=0.31\tval/acc=0.5 \r");
  EXPECT_THAT(line.pairs, ElementsAre(ReportPair{"step", "120"}, ReportPair{"loss", "0.31"},
                                      ReportPair{"val/acc", "0.5"}));
  EXPECT_EQ(line.defect, "");
}

TEST(ReportLineTest, QuotesKeepSpaces) {
  const ReportLine line = ParseReportLine("a=\"x y\" b=\"\" c= d=\"open");
  EXPECT_THAT(line.pairs, ElementsAre(ReportPair{"a", "x y"}, ReportPair{"b", ""},
                                      ReportPair{"c", ""}, ReportPair{"d", "open"}));
}

TEST(ReportLineTest, TheFirstWordThatIsNoPairIsTheDefect) {
  EXPECT_EQ(ParseReportLine("step = 1").defect, "step");
  EXPECT_EQ(ParseReportLine("ok=1 =x word").defect, "=x");
  EXPECT_EQ(ParseReportLine("n\xc3\xa4me=1").defect, "n\xc3\xa4me=1");
  EXPECT_EQ(ParseReportLine("a=\x1b[0m").defect, "a=\x1b[0m");
  EXPECT_EQ(ParseReportLine("b=\xff").defect, "b=\xff");
  EXPECT_EQ(ParseReportLine("a=1 b=\xff c=2").pairs.size(), 2u);
  EXPECT_THAT(ParseReportLine("").pairs, IsEmpty());
  EXPECT_EQ(ParseReportLine(" \t").defect, "");
}

TEST(ReportLineTest, ValuesMayBeAnyPrintableText) {
  const ReportLine line = ParseReportLine("note=\"gr\xc3\xbc\xc3\x9f dich\"");
  EXPECT_THAT(line.pairs, ElementsAre(ReportPair{"note", "gr\xc3\xbc\xc3\x9f dich"}));
}

TEST(ReportLineTest, NamesAndValuesHaveALimit) {
  const std::string name(kMostReportNameBytes, 'n'), value(kMostReportValueBytes, 'v');
  EXPECT_EQ(ParseReportLine(name + "=" + value).defect, "");
  EXPECT_NE(ParseReportLine("n" + name + "=1").defect, "");
  EXPECT_NE(ParseReportLine("n=v" + value).defect, "");
}

TEST(ReportLineTest, NumbersAreWhatCCallsNumbers) {
  EXPECT_EQ(ReportedNumber("-2.5e3"), -2500);
  EXPECT_TRUE(std::isnan(ReportedNumber("nan").value()));
  EXPECT_TRUE(std::isinf(ReportedNumber("-inf").value()));
  EXPECT_EQ(ReportedNumber("two"), std::nullopt);
  EXPECT_EQ(ReportedNumber("1,5"), std::nullopt);
  EXPECT_EQ(ReportedNumber(""), std::nullopt);
}

}  // namespace
}  // namespace tony::core
