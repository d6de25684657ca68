// Several logs as one: order, pages, logs that grow, lines without times.
#include "logs/log_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/logs/timed_log.h"
#include "tests/os/temporary_folder.h"

namespace tony::logs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LogMergeTest : public ::testing::Test {
 protected:
  std::string Path(int source) const { return absl::StrCat(folder_.path(), "/", source, ".log"); }
  void Append(int source, const std::string& text, int64_t unix_millis, int number = 1) {
    AppendTimed(Path(source), text, unix_millis, number);
  }
  MergedPage Merge(
      const MergeRange& range, const std::function<bool()>& enough = [] { return false; }) {
    const std::vector<MergeSource> sources = {{Path(0)}, {Path(1)}, {Path(2), true}};
    absl::StatusOr<MergedPage> page = MergeLogs(sources, range, enough);
    EXPECT_TRUE(page.ok()) << page.status();
    return page.value_or(MergedPage{});
  }
  static std::vector<std::string> Texts(const MergedPage& page) {
    std::vector<std::string> texts;
    for (const MergedRow& row : page.rows) {
      texts.push_back(absl::StrCat(row.unix_millis, " ", row.source, " ", row.text));
    }
    return texts;
  }
  /// All lines, in pages of one to three lines.
  std::vector<std::string> InPages(MergeRange range) {
    std::vector<std::string> all;
    for (bool more = true; more;) {
      range.lines = 1 + all.size() % 3;
      const MergedPage page = Merge(range);
      for (const std::string& text : Texts(page)) all.push_back(text);
      range.place = page.next;
      more = page.more;
    }
    return all;
  }

  os::TemporaryFolder folder_;
};

TEST_F(LogMergeTest, MergesByTimeAndKeepsTheOrderOfLogsOfOneTime) {
  Append(0, "a\n", 10);
  Append(0, "b\nc\n", 30);
  Append(1, "d\ne\n", 10);
  Append(1, "f\n", 20);
  const std::vector<std::string> merged = {"10 0 a", "10 1 d", "10 1 e",
                                           "20 1 f", "30 0 b", "30 0 c"};
  EXPECT_EQ(Texts(Merge({})), merged);
  EXPECT_EQ(InPages({}), merged);
  EXPECT_EQ(Merge({}).next, (MergePlace{30, 2}));
  EXPECT_FALSE(Merge({}).more);
}

TEST_F(LogMergeTest, WithoutLogsThereAreNoLines) {
  const MergedPage page = Merge({.place = {7, 1}});
  EXPECT_THAT(page.rows, IsEmpty());
  EXPECT_EQ(page.next, (MergePlace{7, 1}));
}

// A line without a record of its own belongs to the record before.
TEST_F(LogMergeTest, LinesWithoutATimeStayBehindTheLineBefore) {
  Append(0, "begin\n", 10);
  AppendLog(Path(0), "no time\nnor this\n");
  Append(0, "end\n", 30);
  Append(1, "other\n", 20);
  AppendLog(Path(2), "never a time\n");
  const std::vector<std::string> merged = {"0 2 never a time", "10 0 begin", "10 0 no time",
                                           "10 0 nor this",    "20 1 other", "30 0 end"};
  EXPECT_EQ(Texts(Merge({})), merged);
  EXPECT_EQ(InPages({}), merged);
}

TEST_F(LogMergeTest, AFollowerGetsEachLineOnceHoweverItIsWritten) {
  Append(0, "progress", 10);
  Append(1, "one\n", 20);
  MergeRange range{.horizon = 25};
  MergedPage page = Merge(range);
  EXPECT_THAT(Texts(page), ElementsAre("20 1 one"));
  EXPECT_EQ(page.next, (MergePlace{25, 0}));
  // The line is shown when it is whole, which is after the place to which everything was read.
  Append(0, " is", 28);
  Append(0, " made\nnext\n", 30);
  Append(1, "two\n", 30);
  Append(1, "too new\n", 40);
  range.place = page.next;
  range.horizon = 40;
  page = Merge(range);
  EXPECT_THAT(Texts(page), ElementsAre("30 0 progress is made", "30 0 next", "30 1 two"));
  range.place = page.next;
  range.horizon = 50;
  EXPECT_THAT(Texts(Merge(range)), ElementsAre("40 1 too new"));
}

TEST_F(LogMergeTest, AnOpenLastLineIsALineOnlyWhereItWillNotGoOn) {
  Append(0, "whole\nhalf", 10);
  EXPECT_THAT(Texts(Merge({})), ElementsAre("10 0 whole"));
  EXPECT_THAT(Texts(Merge({.open_ends = true})), ElementsAre("10 0 whole", "10 0 half"));
}

TEST_F(LogMergeTest, PatternsAndLevelsDoNotChangePlaces) {
  Append(0, "a 1\nb\na 2\n", 10);
  const MergedPage found = Merge({.pattern = "^a", .lines = 1});
  EXPECT_THAT(Texts(found), ElementsAre("10 0 a 1"));
  EXPECT_TRUE(found.more);
  EXPECT_EQ(found.next, (MergePlace{10, 1}));
  EXPECT_THAT(Texts(Merge({.place = found.next, .pattern = "^a"})), ElementsAre("10 0 a 2"));
  EXPECT_TRUE(absl::IsInvalidArgument(MergeLogs({}, {.pattern = "("}, nullptr).status()));
}

TEST_F(LogMergeTest, LinesOfTonysOwnSayThemselvesWhenTheyWereWritten) {
  Append(0, "the program's\n", 1'000'000'000'500);
  AppendLog(Path(2),
            "2001-09-09T03:46:40.100+02:00 debug starting\n  and more of it\n"
            "2001-09-09T03:46:41.000+02:00 info running\n");
  EXPECT_EQ(
      Texts(Merge({})),
      (std::vector<std::string>{"1000000000100 2 2001-09-09T03:46:40.100+02:00 debug starting",
                                "1000000000100 2   and more of it", "1000000000500 0 the program's",
                                "1000000001000 2 2001-09-09T03:46:41.000+02:00 info running"}));
  EXPECT_THAT(Texts(Merge({.place = {1'000'000'000'100, 2}, .level = LogLevel::kInfo})),
              ElementsAre("1000000000500 0 the program's",
                          "1000000001000 2 2001-09-09T03:46:41.000+02:00 info running"));
  EXPECT_THAT(Texts(Merge({.level = LogLevel::kError})),
              ElementsAre("1000000000100 2   and more of it"));
}

TEST_F(LogMergeTest, LinesOfProgramsAreOfALevelByTheirWords) {
  Append(0, "step 17\nValueError: bad batch 17\nKeyError: 1\n", 10);
  Append(1, "warnings.warn(17)\n", 10);
  EXPECT_THAT(Texts(Merge({.pattern = "ValueError|17", .level = LogLevel::kError})),
              ElementsAre("10 0 ValueError: bad batch 17"));
  EXPECT_THAT(Texts(Merge({.pattern = "17", .level = LogLevel::kWarning})),
              ElementsAre("10 0 ValueError: bad batch 17", "10 1 warnings.warn(17)"));
}

TEST_F(LogMergeTest, OldLinesAreSkippedAcrossSegments) {
  for (int i = 1; i < 100; ++i) Append(0, absl::StrCat("line ", i, "\n"), 10 * i, 1 + i / 40);
  EXPECT_THAT(Texts(Merge({.since = 985})), ElementsAre("990 0 line 99"));
  const MergedPage page = Merge({.place = {500, 0}, .lines = 2});
  EXPECT_THAT(Texts(page), ElementsAre("500 0 line 50", "510 0 line 51"));
}

TEST_F(LogMergeTest, APageIsBoundedInBytesAndTime) {
  for (int i = 1; i <= 2000; ++i) Append(1, absl::StrCat(std::string(1000, 'x'), "\n"), i);
  EXPECT_EQ(Merge({.lines = 5000, .bytes = 10'000}).rows.size(), 10U);
  const MergedPage page = Merge({.pattern = "y"}, [] { return true; });
  EXPECT_THAT(page.rows, IsEmpty());
  EXPECT_TRUE(page.more);
  EXPECT_GT(page.next.millis, 100);  // the next page goes on from there
}

TEST_F(LogMergeTest, EmptyLinesFillAPageToo) {
  Append(0, std::string(100'000, '\n'), 10);
  const MergedPage page = Merge({.lines = 100'000, .bytes = 10'000});
  EXPECT_GT(page.rows.size(), 100U);
  EXPECT_LT(page.rows.size(), 1000U);
}

// No line of these logs has a time of its own, so only the number of lines tells where to go on.
TEST_F(LogMergeTest, APageGoesOnHoweverManyLinesOfItsTimeLieBefore) {
  std::string many;
  for (int i = 0; i < 300'000; ++i) absl::StrAppend(&many, i % 100, "\n");
  AppendLog(Path(0), many);
  AppendLog(Path(1), "one\ntwo");
  const MergedPage page = Merge({.place = {0, 290'000}}, [] { return true; });
  ASSERT_FALSE(page.rows.empty());
  EXPECT_EQ(page.rows[0].text, "0");
  EXPECT_EQ(page.rows[0].place, 290'001);
  EXPECT_GT(page.next, (MergePlace{0, 290'000}));
  const MergeRange rest{.place = {0, 299'999}, .open_ends = true};
  EXPECT_THAT(Texts(Merge(rest)), ElementsAre("0 0 99", "0 1 one", "0 1 two"));
  EXPECT_THAT(Texts(Merge({.place = {0, 300'001}, .open_ends = true})), ElementsAre("0 1 two"));
  EXPECT_THAT(Texts(Merge({.place = {0, 300'002}, .open_ends = true})), IsEmpty());
}

// Passing over lines takes seconds in a log of gigabytes.
TEST_F(LogMergeTest, EndsOnTheWayToItsPlaceWhenNobodyWaits) {
  std::string many;
  for (int i = 0; i < 2000; ++i) absl::StrAppend(&many, "1970-01-01T00:00:01.000+00:00 info x\n");
  for (const bool levels : {false, true}) {
    const std::string path = Path(levels ? 2 : 0);
    AppendLog(path, many);
    int asked = 0;
    const auto stop = [&asked] { return ++asked > 2; };
    const absl::StatusOr<MergedPage> page = MergeLogs(
        {{path, levels}}, {.place = {5000, 5000}}, [] { return false; }, stop);
    EXPECT_TRUE(absl::IsCancelled(page.status())) << page.status();
    EXPECT_LT(asked, 6) << "and reads no further";
  }
}

TEST_F(LogMergeTest, PlacesCountTheLinesOfOneTimeOverAllLogs) {
  Append(0, "a\nb\n", 10);
  Append(1, "c\n", 5);
  Append(1, "d\ne\n", 10);
  AppendLog(Path(2), "1970-01-01T00:00:00.010+00:00 info f\n");
  const std::vector<std::string> all = Texts(Merge({}));
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[0], "5 1 c");
  for (int skip = 0; skip <= 5; ++skip) {
    EXPECT_EQ(Texts(Merge({.place = {10, skip}})),
              std::vector<std::string>(all.begin() + 1 + skip, all.end()))
        << skip;
  }
}

}  // namespace
}  // namespace tony::logs
