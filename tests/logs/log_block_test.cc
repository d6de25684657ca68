// Blocks of lines and searches, in logs of several segments that lose some.
#include "logs/log_block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "logs/log_bytes.h"
#include "logs/log_segments.h"
#include "logs/segmented_log.h"
#include "os/files/files.h"
#include "tests/os/temporary_folder.h"

namespace tony::logs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

bool Never() { return false; }

class LogBlockTest : public ::testing::Test {
 protected:
  void Write(const std::string& text, int number = 1) {
    ASSERT_TRUE(os::WriteFileAtomically(LogSegmentPath(path_, number), text).ok());
  }
  LogBlock Read(int64_t offset, size_t limit = 64 << 10) {
    const auto block = ReadLogBlock(path_, offset, limit);
    EXPECT_TRUE(block.ok()) << block.status();
    return block.ok() ? *block : LogBlock{};
  }
  LogBlock Search(const LogSearch& search) {
    const auto block = SearchLog(path_, search, &Never);
    EXPECT_TRUE(block.ok()) << block.status();
    return block.ok() ? *block : LogBlock{};
  }
  /// "offset text" of each row, with '*' behind hits.
  static std::vector<std::string> Rows(const LogBlock& block) {
    std::vector<std::string> rows;
    for (const LogRow& row : block.rows) {
      rows.push_back(absl::StrCat(row.offset, " ", row.text, row.hit ? "*" : ""));
    }
    return rows;
  }

  os::TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/stdout.log";
};

TEST_F(LogBlockTest, BlocksBeginAndEndWithLines) {
  Write("one\ntwo\nthree\n");
  const LogBlock all = Read(0);
  EXPECT_THAT(Rows(all), ElementsAre("0 one", "4 two", "8 three"));
  EXPECT_EQ(all.end, 14);
  EXPECT_EQ(all.size, 14);
  EXPECT_FALSE(all.next.has_value());
  const LogBlock first = Read(0, 9);
  EXPECT_THAT(Rows(first), ElementsAre("0 one", "4 two"));
  EXPECT_EQ(first.next, 8);
  EXPECT_THAT(Rows(Read(4, 1)), ElementsAre("4 two"));
  EXPECT_THAT(Rows(Read(1)), ElementsAre("4 two", "8 three"));
  EXPECT_THAT(Rows(Read(-6)), ElementsAre("8 three"));
  EXPECT_THAT(Rows(Read(-5)), IsEmpty());
  EXPECT_THAT(Rows(Read(-1000)), ElementsAre("0 one", "4 two", "8 three"));
  EXPECT_THAT(Rows(Read(1000)), IsEmpty());
  EXPECT_EQ(Read(1000).end, 14);
}

TEST_F(LogBlockTest, ALineThatHasNoEndYet) {
  Write("one\ntw");
  const LogBlock block = Read(0);
  EXPECT_THAT(Rows(block), ElementsAre("0 one", "4 tw"));
  EXPECT_TRUE(block.partial);
  EXPECT_EQ(block.end, 4);
  Write("one\ntwo\n");
  EXPECT_THAT(Rows(Read(block.end)), ElementsAre("4 two"));
}

TEST_F(LogBlockTest, SegmentsAreOneLog) {
  Write("one\ntw");
  Write("o\nthree\n", 2);
  EXPECT_THAT(Rows(Read(0)), ElementsAre("0 one", "4 two", "8 three"));
}

TEST_F(LogBlockTest, DroppedBytesKeepTheirNumbers) {
  Write("one\n");
  Write(
      "[tony: 100 bytes of this log were dropped here, the limit tony.task.log.max-size being "
      "reached]\n",
      4);
  Write("late\nlater\n", 5);
  const LogBlock first = Read(0);
  EXPECT_THAT(Rows(first), ElementsAre("0 one"));
  EXPECT_EQ(first.next, 104);
  EXPECT_EQ(first.dropped_offset, 4);
  EXPECT_EQ(first.dropped_bytes, 100);
  EXPECT_EQ(first.size, 115);
  for (const int64_t offset : {4, 50, 103, 104}) {
    EXPECT_THAT(Rows(Read(offset)), ElementsAre("104 late", "109 later")) << offset;
  }
  LogSearch search;
  search.pattern = "e$";
  EXPECT_THAT(Rows(Search(search)), ElementsAre("0 one*", "104 late*"));
}

// The offsets of what remains do not change while a real log drops its segments.
TEST_F(LogBlockTest, OffsetsStayWhileTheLogTurns) {
  auto log = SegmentedLog::Open(path_, {.segment_bytes = 1000, .total_bytes = 3000}, [](auto) {});
  ASSERT_TRUE(log.ok());
  int64_t written = 0;
  for (int number = 0; number < 2000; ++number) {
    const std::string line = absl::StrCat("line ", number, "\n");
    log->Append(line.data(), line.size(), 1000 + number);
    written += static_cast<int64_t>(line.size());
    if (number % 100 != 99) continue;
    const LogBlock block = Read(-static_cast<int64_t>(line.size()));
    ASSERT_EQ(block.size, written) << number;
    ASSERT_THAT(Rows(block), ElementsAre(absl::StrCat(written - static_cast<int64_t>(line.size()),
                                                      " line ", number)));
  }
  EXPECT_GT(Read(0).dropped_bytes, 10'000);
}

TEST_F(LogBlockTest, LongLinesComeInPieces) {
  const std::string line(150'000, 'x');
  Write(line + "\nend\n");
  const LogBlock block = Read(0, 1 << 20);
  ASSERT_EQ(block.rows.size(), 4U);
  EXPECT_EQ(block.rows[1].offset, static_cast<int64_t>(kMostRowBytes));
  EXPECT_EQ(block.rows[0].text.size() + block.rows[1].text.size() + block.rows[2].text.size(),
            line.size());
  EXPECT_EQ(block.rows[3].text, "end");
  // In the middle of the line no begin of a line is near.
  EXPECT_EQ(Read(10, 100).offset, 10);
}

TEST_F(LogBlockTest, ReadingOnMeetsEveryLineOnce) {
  std::mt19937 random(1);
  std::string text;
  for (int number = 0; number < 3000; ++number) {
    absl::StrAppend(&text, number, std::string(random() % 300, 'x'), "\n");
  }
  Write(text);
  std::string got;
  int64_t offset = 0;
  for (;;) {
    const LogBlock block = Read(offset, 10'000);
    for (const LogRow& row : block.rows) absl::StrAppend(&got, row.text, "\n");
    if (!block.next) break;
    ASSERT_GT(*block.next, offset);
    offset = *block.next;
  }
  EXPECT_EQ(got, text);
}

TEST_F(LogBlockTest, HitsWithTheirContext) {
  Write("a\nb\nhit 1\nc\nd\ne\nhit 2\nhit 3\nf\n");
  LogSearch search;
  search.pattern = "^hit \\d$";
  EXPECT_THAT(Rows(Search(search)), ElementsAre("4 hit 1*", "16 hit 2*", "22 hit 3*"));
  search.context = 1;
  EXPECT_THAT(Rows(Search(search)),
              ElementsAre("2 b", "4 hit 1*", "10 c", "14 e", "16 hit 2*", "22 hit 3*", "28 f"));
  search.hits = 1;
  const LogBlock first = Search(search);
  EXPECT_EQ(first.hits, 1U);
  EXPECT_THAT(Rows(first), ElementsAre("2 b", "4 hit 1*"));
  search.offset = first.next.value_or(-1);
  EXPECT_THAT(Rows(Search(search)), ElementsAre("14 e", "16 hit 2*"));
  search.pattern = "nothing";
  const LogBlock none = Search(search);
  EXPECT_THAT(Rows(none), IsEmpty());
  EXPECT_FALSE(none.next.has_value());
}

TEST_F(LogBlockTest, PatternsThatMatchNothingOrTooMuch) {
  Write("a\n\nb\n");
  LogSearch search;
  search.pattern = "x*";
  EXPECT_THAT(Rows(Search(search)), ElementsAre("0 a*", "2 *", "3 b*"));
  search.pattern = "a[^x]*b|b";  // no match spans lines
  EXPECT_THAT(Rows(Search(search)), ElementsAre("3 b*"));
  for (const char* pattern : {"(", "a)(b", "[", "a{5000}", "\\", "(?P<x"}) {
    search.pattern = pattern;
    EXPECT_TRUE(absl::IsInvalidArgument(SearchLog(path_, search, &Never).status())) << pattern;
  }
}

TEST_F(LogBlockTest, ALevelAndAPatternMayFindTheSameWord) {
  Write("step 17\nValueError: bad batch 17\nWARNING: batch 17 is slow\nKeyError: 'x'\nfine\n");
  LogSearch search;
  search.pattern = "ValueError";
  search.level = LogLevel::kError;
  EXPECT_THAT(Rows(Search(search)), ElementsAre("8 ValueError: bad batch 17*"));
  search.pattern = "17";
  EXPECT_THAT(Rows(Search(search)), ElementsAre("8 ValueError: bad batch 17*"));
  search.level = LogLevel::kWarning;
  EXPECT_THAT(Rows(Search(search)),
              ElementsAre("8 ValueError: bad batch 17*", "33 WARNING: batch 17 is slow*"));
  search.level = LogLevel::kInfo;
  EXPECT_EQ(Search(search).hits, 3U);
  search.pattern = "";
  EXPECT_EQ(Search(search).hits, 5U);
  search.level = LogLevel::kError;
  EXPECT_THAT(Rows(Search(search)),
              ElementsAre("8 ValueError: bad batch 17*", "59 KeyError: 'x'*"));
  // A hit of a lower level is context like any other line.
  search.pattern = "17|x";
  search.context = 1;
  EXPECT_THAT(Rows(Search(search)),
              ElementsAre("0 step 17", "8 ValueError: bad batch 17*",
                          "33 WARNING: batch 17 is slow", "59 KeyError: 'x'*", "73 fine"));
}

TEST_F(LogBlockTest, TonysOwnLinesSayTheirLevel) {
  const std::string time = "2001-09-09T03:46:40.100+02:00 ";
  Write(time + "info no error so far\n" + time + "error port taken\nterminate called\n" + time +
        "warning slow disk\n");
  LogSearch search;
  search.levels = true;
  search.level = LogLevel::kError;
  const LogBlock errors = Search(search);
  ASSERT_EQ(errors.rows.size(), 2U);
  EXPECT_EQ(errors.rows[0].text, time + "error port taken");
  EXPECT_EQ(errors.rows[1].text, "terminate called");  // it has no level, as in a merge
  search.pattern = "slow|error";
  EXPECT_EQ(Search(search).hits, 1U);
  search.level = LogLevel::kWarning;
  EXPECT_EQ(Search(search).hits, 2U);
}

/// What a search must find, the slow way.
std::vector<std::string> Expected(const std::string& text, const std::string& part) {
  std::vector<std::string> rows;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    if (line.find(part) != std::string::npos) rows.push_back(absl::StrCat(begin, " ", line, "*"));
    begin = end + 1;
  }
  return rows;
}

TEST_F(LogBlockTest, ChunksCutNoLine) {
  std::mt19937 random(7);
  std::string text;
  while (text.size() < (5 << 20)) {
    absl::StrAppend(&text, std::string(random() % 2000, 'x'), random() % 100 == 0 ? "needle" : "",
                    std::string(random() % 2000, 'y'), "\n");
  }
  Write(text);
  LogSearch search;
  search.pattern = "needle";
  search.hits = 100'000;
  search.limit = 100 << 20;
  EXPECT_EQ(Rows(Search(search)), Expected(text, "needle"));
  // The context of all hits is the same however many pages there are.
  search.context = 3;
  const std::vector<std::string> whole = Rows(Search(search));
  EXPECT_GT(whole.size(), 3 * Expected(text, "needle").size());
}

TEST_F(LogBlockTest, ASearchEndsWhenEnoughTimeHasGone) {
  Write(std::string(3 << 20, 'x') + "\nneedle\n");
  LogSearch search;
  search.pattern = "needle";
  int asked = 0;
  const auto block = SearchLog(path_, search, [&] { return ++asked > 1; });
  ASSERT_TRUE(block.ok());
  EXPECT_THAT(block->rows, IsEmpty());
  ASSERT_TRUE(block->next.has_value());
  search.offset = *block->next;
  EXPECT_EQ(Search(search).hits, 1U);
}

TEST_F(LogBlockTest, WhatIsNoLogIsNotRead) {
  EXPECT_TRUE(absl::IsNotFound(ReadLogBlock(path_, 0, 100).status()));
  Write("secret\n");
  const std::string link = folder_.path() + "/link.log";
  ASSERT_EQ(::symlink(path_.c_str(), link.c_str()), 0);
  EXPECT_TRUE(absl::IsNotFound(ReadLogBlock(link, 0, 100).status()));
}

}  // namespace
}  // namespace tony::logs
