// Numbers, memory and lists as text.
#include "jobfile/values/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::jobfile {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(MemoryTest, AcceptsGigabytesMegabytesAndBareMegabytesInAnyCase) {
  EXPECT_EQ(ParseMemoryMb("2g"), 2048);
  EXPECT_EQ(ParseMemoryMb("4G"), 4096);
  EXPECT_EQ(ParseMemoryMb("2048m"), 2048);
  EXPECT_EQ(ParseMemoryMb("512M"), 512);
  EXPECT_EQ(ParseMemoryMb("2048"), 2048);
}

TEST(MemoryTest, RefusesEverythingElse) {
  for (const char* const text : {"", "g", "2gb", "1.5g", "-1g", "-5", "2k", "2 g", "two", "0x10",
                                 "99999999999999999999", "9223372036854775807g"}) {
    EXPECT_FALSE(ParseMemoryMb(text).has_value()) << text;
  }
}

TEST(BooleanTest, AcceptsTrueAndFalseInAnyCaseOnly) {
  EXPECT_EQ(ParseBoolean("true"), true);
  EXPECT_EQ(ParseBoolean("FALSE"), false);
  for (const char* const text : {"", "yes", "1", "truee"}) {
    EXPECT_FALSE(ParseBoolean(text).has_value()) << text;
  }
}

TEST(DecimalTest, TakesNumbersWithAndWithoutAFraction) {
  EXPECT_EQ(ParseDecimal("2"), 2.0);
  EXPECT_EQ(ParseDecimal("0.25"), 0.25);
  EXPECT_EQ(ParseDecimal("-1.5"), -1.5);
  for (const char* const text : {"", ".", "-", "+1", "1e3", "0x1p3", "inf", "nan", "1,5", " 1",
                                 "1 ", "1ms", "1.2.3", "--1"}) {
    EXPECT_FALSE(ParseDecimal(text).has_value()) << text;
  }
}

TEST(WholeNumberTest, TakesNothingButDigitsAndAMinus) {
  EXPECT_EQ(ParseWholeNumber("10"), 10);
  EXPECT_EQ(ParseWholeNumber("-1"), -1);
  for (const char* const text : {"", "+1", "1.0", "1e3", " 1", "10s", "9223372036854775808"}) {
    EXPECT_FALSE(ParseWholeNumber(text).has_value()) << text;
  }
}

TEST(MillisecondsWithUnitTest, UnderstandsWhatWasMeant) {
  EXPECT_EQ(ParseMillisecondsWithUnit("10s"), 10'000);
  EXPECT_EQ(ParseMillisecondsWithUnit("5 min"), 300'000);
  EXPECT_EQ(ParseMillisecondsWithUnit("5m"), 300'000);
  EXPECT_EQ(ParseMillisecondsWithUnit("2h"), 7'200'000);
  EXPECT_EQ(ParseMillisecondsWithUnit("500ms"), 500);
  EXPECT_EQ(ParseMillisecondsWithUnit("1d"), 86'400'000);
  EXPECT_FALSE(ParseMillisecondsWithUnit("10").has_value());
  EXPECT_FALSE(ParseMillisecondsWithUnit("soon").has_value());
}

TEST(ListTest, DropsWhiteSpaceAndEmptyItems) {
  EXPECT_THAT(SplitList("a, b ,,\n c"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(SplitList(" , "), IsEmpty());
  EXPECT_THAT(SplitList(""), IsEmpty());
}

TEST(ListTest, BackslashProtectsCommasAndItselfOnly) {
  EXPECT_THAT(SplitList(R"(a\,b,c\\,d\e)"), ElementsAre("a,b", R"(c\)", R"(d\e)"));
}

TEST(ListTest, JoinIsTheReverseOfSplit) {
  const std::vector<std::string> items = {"A=1,2", R"(B=C:\dir\)", "C=$x \"y\"", "D=\\,"};
  EXPECT_EQ(SplitList(JoinList(items)), items);
}

TEST(KeyValuesTest, FirstEqualsSignDividesAndLastNameWins) {
  EXPECT_THAT(ParseKeyValues("A=1,B=x=y,C=,A=2"),
              ElementsAre(Pair("A", "2"), Pair("B", "x=y"), Pair("C", "")));
}

TEST(KeyValuesTest, NeedsANameAndAnEqualsSign) {
  EXPECT_FALSE(ParseKeyValue("A").has_value());
  EXPECT_FALSE(ParseKeyValue("=1").has_value());
}

}  // namespace
}  // namespace tony::jobfile
