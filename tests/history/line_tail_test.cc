// Growing, rotated, cut and odd files, read by lines.
#include "history/line_tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "tests/logs/timed_log.h"
#include "tests/os/temporary_folder.h"

namespace tony::history {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Lines = std::vector<std::string>;

Lines Read(LineTail& tail, bool finish = false) {
  Lines lines;
  const auto use = [&](const std::string& line) { lines.push_back(line); };
  finish ? tail.Finish(use) : tail.Read(use);
  return lines;
}

/// A file in a folder of its own.
struct Log {
  os::TemporaryFolder folder;
  std::string path = folder.path() + "/log";
  void Add(const std::string& text) { logs::AppendLog(path, text); }
};

TEST(LineTail, GivesLinesWhenTheyAreComplete) {
  Log log;
  LineTail tail(log.path);
  EXPECT_THAT(Read(tail), IsEmpty());
  log.Add("one\ntw");
  EXPECT_THAT(Read(tail), ElementsAre("one"));
  EXPECT_THAT(Read(tail), IsEmpty());
  log.Add("o\n\nthree");
  EXPECT_THAT(Read(tail), ElementsAre("two", ""));
  EXPECT_THAT(Read(tail, true), ElementsAre("three"));
  EXPECT_THAT(Read(tail, true), IsEmpty());
}

TEST(LineTail, StartsAgainWhenTheFileIsReplacedOrCut) {
  Log log;
  LineTail tail(log.path);
  log.Add("old one\nold tw");
  EXPECT_THAT(Read(tail), ElementsAre("old one"));
  std::filesystem::rename(log.path, log.path + ".1");
  log.Add("new one, longer than the old file was\n");
  EXPECT_THAT(Read(tail), ElementsAre("old tw", "new one, longer than the old file was"));
  std::filesystem::resize_file(log.path, 0);
  log.Add("cut\n");
  EXPECT_THAT(Read(tail), ElementsAre("cut"));
}

TEST(LineTail, SkipsToTheLastLines) {
  Log log;
  log.Add("1\n2\n3\n4\npart");
  const auto last = [&](int64_t lines) {
    LineTail tail(log.path);
    tail.SkipToLast(lines);
    return Read(tail, true);
  };
  EXPECT_THAT(last(0), IsEmpty());
  EXPECT_THAT(last(1), ElementsAre("part"));
  EXPECT_THAT(last(3), ElementsAre("3", "4", "part"));
  EXPECT_THAT(last(5), ElementsAre("1", "2", "3", "4", "part"));
  EXPECT_THAT(last(99), ElementsAre("1", "2", "3", "4", "part"));
  log.Add("\n");
  EXPECT_THAT(last(2), ElementsAre("4", "part"));
}

TEST(LineTail, SkipsInLargeFiles) {
  Log log;
  std::string text;
  for (int number = 0; number < 50'000; ++number) text += "line " + std::to_string(number) + "\n";
  log.Add(text);
  LineTail tail(log.path);
  tail.SkipToLast(20'000);
  const Lines lines = Read(tail);
  ASSERT_EQ(lines.size(), 20'000u);
  EXPECT_EQ(lines.front(), "line 30000");
  EXPECT_EQ(lines.back(), "line 49999");
}

TEST(LineTail, GivesEndlessLinesInPieces) {
  Log log;
  log.Add(std::string(300'000, 'x'));
  LineTail tail(log.path);
  size_t total = 0;
  for (const std::string& piece : Read(tail, true)) {
    EXPECT_LE(piece.size(), 128u * 1024);
    total += piece.size();
  }
  EXPECT_EQ(total, 300'000u);
}

TEST(LineTail, IgnoresWhatIsNoFile) {
  os::TemporaryFolder folder;
  LineTail tail(folder.path());
  EXPECT_THAT(Read(tail, true), IsEmpty());
}

}  // namespace
}  // namespace tony::history
