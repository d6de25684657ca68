// Growing, replaced, cut and odd files, read by lines.
#include "history/line_tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include "tests/logs/timed_log.h"
#include "tests/os/temporary_folder.h"

namespace tony::history {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Lines = std::vector<std::string>;

Lines Read(LineTail& tail) {
  Lines lines;
  tail.Read([&](const std::string& line) { lines.push_back(line); });
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
  log.Add("\n");
  EXPECT_THAT(Read(tail), ElementsAre("three"));
}

TEST(LineTail, StartsAgainWhenTheFileIsReplacedOrCut) {
  Log log;
  LineTail tail(log.path);
  log.Add("old one\nold tw");
  EXPECT_THAT(Read(tail), ElementsAre("old one"));
  std::filesystem::rename(log.path, log.path + ".1");
  log.Add("new one, longer than the old file was\n");
  EXPECT_THAT(Read(tail), ElementsAre("new one, longer than the old file was"));
  std::filesystem::resize_file(log.path, 0);
  log.Add("cut\n");
  EXPECT_THAT(Read(tail), ElementsAre("cut"));
}

// An ApplicationMaster that comes back cuts off the line that its predecessor had half written.
TEST(LineTail, NothingIsLeftOfALineThatWasCutOff) {
  for (const std::string next : {"next\n", "a line longer than the half-written one was\n"}) {
    Log log;
    LineTail tail(log.path);
    log.Add("one\nhalf written");
    EXPECT_THAT(Read(tail), ElementsAre("one"));
    std::filesystem::resize_file(log.path, 4);
    log.Add(next);
    EXPECT_THAT(Read(tail), ElementsAre(next.substr(0, next.size() - 1)));
  }
}

TEST(LineTail, GivesLongLinesWhole) {
  Log log;
  LineTail tail(log.path);
  const std::string line(1'000'000, 'x');
  log.Add(line + "\n" + line);
  EXPECT_THAT(Read(tail), ElementsAre(line));
  log.Add("y\n");
  EXPECT_THAT(Read(tail), ElementsAre(line + "y"));
}

TEST(LineTail, GivesEndlessLinesInPieces) {
  Log log;
  const std::string endless(2 * LineTail::kMostLine + 100, 'x');
  log.Add(endless + "\n");
  LineTail tail(log.path);
  size_t total = 0;
  for (const std::string& piece : Read(tail)) {
    EXPECT_LE(piece.size(), LineTail::kMostLine + 64 * 1024);
    total += piece.size();
  }
  EXPECT_EQ(total, endless.size());
}

TEST(LineTail, IgnoresWhatIsNoFile) {
  os::TemporaryFolder folder;
  LineTail tail(folder.path());
  EXPECT_THAT(Read(tail), IsEmpty());
  const std::string pipe = folder.path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  LineTail piped(pipe);
  EXPECT_THAT(Read(piped), IsEmpty());
}

}  // namespace
}  // namespace tony::history
