// One log out of its segments, with times, while it grows and loses parts.
#include "logs/log_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "os/files/files.h"
#include "tests/logs/timed_log.h"
#include "tests/os/temporary_folder.h"

namespace tony::logs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LogReaderTest : public ::testing::Test {
 protected:
  void Append(const std::string& text, int64_t unix_millis, int number = 1) {
    AppendTimed(path_, text, unix_millis, number);
  }
  /// "time text" of each line that is complete.
  std::vector<std::string> Read(bool to_end = false) {
    std::vector<std::string> lines;
    LogLine line;
    while (to_end ? reader_.Finish(&line) : reader_.Next(&line)) {
      lines.push_back(absl::StrCat(line.unix_millis, " ", line.text));
    }
    return lines;
  }
  std::vector<std::string> Finish() { return Read(true); }

  os::TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/stdout.log";
  LogReader reader_{path_};
};

TEST_F(LogReaderTest, ReadsLinesWithTheTimeOfTheirFirstByte) {
  EXPECT_THAT(Read(), IsEmpty());  // not there yet
  Append("one\ntw", 10);
  EXPECT_THAT(Read(), ElementsAre("10 one"));
  Append("o\nthree", 20);
  EXPECT_THAT(Read(), ElementsAre("10 two"));
  EXPECT_THAT(Finish(), ElementsAre("20 three"));
  Append("\n\nfour\n", 15);  // the clock was set back
  EXPECT_THAT(Read(), ElementsAre("20 ", "20 ", "20 four"));
}

TEST_F(LogReaderTest, ALogWithoutTimesHasNone) {
  AppendLog(path_, "one\ntwo");
  EXPECT_THAT(Finish(), ElementsAre("0 one", "0 two"));
}

TEST_F(LogReaderTest, GoesFromSegmentToSegment) {
  Append("one\nhalf ", 10);
  EXPECT_THAT(Read(), ElementsAre("10 one"));
  Append("a line\ntwo\n", 20, 2);
  Append("three\n", 30, 3);
  EXPECT_THAT(Read(), ElementsAre("10 half a line", "20 two", "30 three"));
  Append("four\n", 40, 3);
  EXPECT_THAT(Read(), ElementsAre("40 four"));
}

TEST_F(LogReaderTest, ADroppedSegmentThatWasReadIsNotMissed) {
  Append("one\n", 10);
  Append("two\n", 20, 2);
  Append("three\n", 30, 3);
  EXPECT_THAT(Read(), SizeIs(3));
  ASSERT_TRUE(os::WriteFileAtomically(LogSegmentPath(path_, 2), "[dropped]\n").ok());
  Append("four\n", 40, 4);
  EXPECT_THAT(Read(), ElementsAre("40 four"));
}

TEST_F(LogReaderTest, ASegmentThatIsDroppedWhileItIsReadIsFollowedByTheNotice) {
  Append("one\n", 10);
  Append("two\nhalf", 20, 2);
  EXPECT_THAT(Read(), ElementsAre("10 one", "20 two"));
  Append("three\n", 30, 3);
  ASSERT_TRUE(os::WriteFileAtomically(LogSegmentPath(path_, 2), "[dropped]\n").ok());
  EXPECT_THAT(Read(), ElementsAre("20 half", "20 [dropped]", "30 three"));
}

TEST_F(LogReaderTest, SegmentsThatWentWhileNobodyReadAreLeapt) {
  Append("one\n", 10);
  Append("two\nhalf", 20, 2);
  EXPECT_THAT(Read(), SizeIs(2));
  std::filesystem::remove(LogSegmentPath(path_, 2));
  Append("[dropped]\n", 40, 4);
  Append("five\n", 50, 5);
  EXPECT_THAT(Read(), ElementsAre("20 half", "40 [dropped]", "50 five"));
}

TEST_F(LogReaderTest, AFileThatWasReplacedIsReadAgain) {
  AppendLog(path_, "one\nhalf");
  EXPECT_THAT(Read(), ElementsAre("0 one"));
  std::filesystem::rename(path_, path_ + ".old");
  AppendLog(path_, "two\n");
  EXPECT_THAT(Read(), ElementsAre("0 half", "0 two"));
}

TEST_F(LogReaderTest, LongLinesComeInPieces) {
  const std::string text(1'000'000, 'x');
  AppendLog(path_, text);
  size_t size = 0;
  LogLine line;
  while (reader_.Next(&line)) {
    EXPECT_LE(line.text.size(), 2 * LogReader::kMaxLineBytes);
    size += line.text.size();
  }
  if (reader_.Finish(&line)) size += line.text.size();
  EXPECT_EQ(size, text.size());
}

TEST_F(LogReaderTest, BinaryOutputComesUnchanged) {
  std::mt19937 random(1);
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += static_cast<char>(random());
  text += '\n';
  AppendLog(path_, text);
  std::string joined;
  LogLine line;
  while (reader_.Next(&line)) joined += line.text + "\n";
  EXPECT_EQ(joined, text);
}

TEST_F(LogReaderTest, SkipsToTheLastLinesAcrossSegments) {
  Append("one\ntwo\n", 10);
  Append("three\nfour\n", 20, 2);
  Append("five\nsix", 30, 3);
  for (int lines = 0; lines <= 8; ++lines) {
    reader_ = LogReader(path_);
    reader_.SkipToLast(lines);
    const std::vector<std::string> read = Finish();
    EXPECT_THAT(read, SizeIs(std::min(lines, 6))) << lines;
    if (lines > 0) {
      EXPECT_EQ(read.back(), "30 six");
    }
    if (lines == 3) {
      EXPECT_EQ(read[0], "20 four");
    }
  }
  reader_ = LogReader(folder_.path() + "/none.log");
  reader_.SkipToLast(3);
  EXPECT_THAT(Finish(), IsEmpty());
}

TEST_F(LogReaderTest, SkipsToATime) {
  for (int i = 0; i < 1000; ++i) Append("early\n", 10 + i);
  for (int i = 0; i < 1000; ++i) Append("late\n", 5000 + i, 2);
  reader_.SkipToTime(5500);
  std::vector<std::string> read = Read();
  ASSERT_FALSE(read.empty());
  EXPECT_EQ(read[0], "5499 late");  // the newest older one is not passed over
  EXPECT_THAT(read, SizeIs(501));
  reader_ = LogReader(path_);
  reader_.SkipToTime(3);
  EXPECT_THAT(Read(), SizeIs(2000));
}

TEST_F(LogReaderTest, LeavesOutWholeLinesAndCountsThem) {
  Append("one\n", 10);
  EXPECT_EQ(reader_.Unread(), 4);
  EXPECT_THAT(Read(), ElementsAre("10 one"));
  EXPECT_EQ(reader_.Unread(), 0);
  // The reader counts in chunks, so that far more than a chunk is needed; two segments.
  const std::string line(99, 'x');
  for (int number : {1, 2}) {
    std::string many;
    for (int count = 0; count < 5000; ++count) absl::StrAppend(&many, line, "\n");
    Append(many, 20, number);
  }
  Append("last\n", 30, 2);
  EXPECT_EQ(reader_.Unread(), 1'000'005);
  const LogReader::LeftOut left_out = reader_.LeaveOutAllBut(100'000);
  EXPECT_EQ(left_out.bytes, left_out.lines * 100);
  EXPECT_GE(left_out.lines, 9000);
  EXPECT_EQ(reader_.Unread(), 1'000'005 - left_out.bytes);
  EXPECT_LE(reader_.Unread(), 100'000);
  EXPECT_GT(reader_.Unread(), 100'000 - 100);
  const std::vector<std::string> rest = Read();
  EXPECT_EQ(static_cast<int64_t>(rest.size()), 10'001 - left_out.lines);
  EXPECT_EQ(rest.back(), "30 last");
  EXPECT_EQ(reader_.LeaveOutAllBut(10).lines, 0);
}

TEST_F(LogReaderTest, LeavesOutALineThatNeverEnds) {
  Append(std::string(1'000'000, 'x'), 10);
  const LogReader::LeftOut left_out = reader_.LeaveOutAllBut(100'000);
  EXPECT_GE(left_out.bytes, 900'000);
  EXPECT_GE(left_out.lines, 1);
  EXPECT_EQ(reader_.LeaveOutAllBut(100'000).bytes, 0);
}

TEST_F(LogReaderTest, PassesOverLinesByTheirTimes) {
  Append("one\ntwo\n", 10);
  Append("three\nfour\nfive", 20);
  EXPECT_EQ(reader_.PassOver(10, 0, false, nullptr), 0);
  EXPECT_EQ(reader_.PassOver(10, 1, false, nullptr), 1);
  EXPECT_THAT(Read(), ElementsAre("10 two", "20 three", "20 four"));
  LogReader other(path_);
  EXPECT_EQ(other.PassOver(20, 9, false, nullptr), 2);
  EXPECT_EQ(other.PassOver(20, 9, true, nullptr), 1);
  LogLine line;
  EXPECT_FALSE(other.Finish(&line));
}

TEST_F(LogReaderTest, LinesKnowWhereTheyBegin) {
  Append("one\nhalf ", 10);
  Append("a line\nthree\n", 20, 2);
  std::vector<std::string> places;
  LogLine line;
  while (reader_.Next(&line)) {
    places.push_back(
        absl::StrCat(line.text, " ", line.position.segment, "+", line.position.offset));
  }
  EXPECT_THAT(places, ElementsAre("one 1+0", "half a line 1+4", "three 2+7"));
}

}  // namespace
}  // namespace tony::logs
