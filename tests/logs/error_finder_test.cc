// Tests which lines of an output count as errors, and how much of one is taken.
#include "logs/error_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "logs/log_bytes.h"
#include "tests/logs/timed_log.h"
#include "tests/os/temporary_folder.h"

namespace tony::logs {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

std::optional<PrintedError> Find(const std::string& text) {
  ErrorFinder finder;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    if (finder.Add({line, 7})) break;
  }
  return finder.Finish();
}

TEST(ErrorFinder, KnowsErrorsAndMentionsOfThem) {
  for (const char* line :
       {"ValueError: x", "torch.cuda.OutOfMemoryError: CUDA out of memory", "KeyboardInterrupt",
        "RuntimeError: NCCL error in: x", "bash: line 1: 123 Segmentation fault (core dumped)",
        "Fatal Python error: Aborted", "FATAL: no", "NCCL WARN Cuda failure", "ncclSystemError",
        "terminate called after throwing", "a.cc:1: Assertion `x' failed.", "panic: oh",
        "CUDA error: device-side assert", "Killed", "bash: nothing: command not found"}) {
    EXPECT_EQ(SignOf(line), ErrorSign::kError) << line;
  }
  for (const char* line :
       {"ERROR:root:x", "2026 error: no", "E0000 00:00 cuda_dnn.cc", "Error 3"}) {
    EXPECT_EQ(SignOf(line), ErrorSign::kMention) << line;
  }
  for (const char* line : {"", "0 errors", "error rate 0.1", "mean_error=2", "no terrors",
                           "caf\xE9", "UserWarning: x", "handled MyErrors"}) {
    EXPECT_EQ(SignOf(line), ErrorSign::kNone) << line;
  }
}

TEST(ErrorFinder, TakesATracebackWholeWithTheLinesBefore) {
  const auto error = Find(
      "1\n2\n3\n4\n5\n6\nTraceback (most recent call last):\n  File \"a\", line 1\n    f()\n\n"
      "ValueError: bad\nafter");
  ASSERT_TRUE(error);
  EXPECT_THAT(error->before, ElementsAre("2", "3", "4", "5", "6"));
  EXPECT_THAT(error->lines, ElementsAre("Traceback (most recent call last):",
                                        "  File \"a\", line 1", "    f()", "", "ValueError: bad"));
  EXPECT_EQ(error->line_number, 7);
  EXPECT_EQ(error->unix_millis, 7);
}

TEST(ErrorFinder, TakesTheStacksOfAPythonThatASignalKilled) {
  const auto error = Find(
      "Fatal Python error: Segmentation fault\n\nThread 0x1 (most recent call first):\n  one\n\n"
      "Current thread 0x2 (most recent call first):\n  File \"a.py\", line 4 in step\n\n"
      "Extension modules: numpy (total: 1)");
  ASSERT_TRUE(error);
  EXPECT_THAT(error->lines, ElementsAre("Fatal Python error: Segmentation fault", "",
                                        "Thread 0x1 (most recent call first):", "  one", "",
                                        "Current thread 0x2 (most recent call first):",
                                        "  File \"a.py\", line 4 in step"));
}

TEST(ErrorFinder, FollowsTheChainOfExceptions) {
  const std::string chain =
      "Traceback (most recent call last):\n  one\nKeyError: 1\n\nDuring handling of the above "
      "exception, another exception occurred:\n\nTraceback (most recent call last):\n  two\n"
      "ValueError: 2";
  const auto error = Find(chain + "\n\nunrelated");
  ASSERT_TRUE(error);
  EXPECT_THAT(error->lines, SizeIs(9));
  EXPECT_EQ(error->lines.back(), "ValueError: 2");
}

TEST(ErrorFinder, UnderstandsPrefixesOfRanks) {
  const auto error = Find(
      "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"a\"\n[rank0]: OSError: x\n"
      "[rank0]: next");
  ASSERT_TRUE(error);
  EXPECT_THAT(error->lines, SizeIs(3));
  EXPECT_EQ(error->lines.back(), "[rank0]: OSError: x");
}

TEST(ErrorFinder, AnErrorBeatsAnEarlierMention) {
  const std::string mention = "ERROR: harmless";
  EXPECT_EQ(Find(mention + "\nKeyError: 'a'")->lines[0], "KeyError: 'a'");
  EXPECT_EQ(Find(mention + "\nERROR: second")->lines[0], mention);
  EXPECT_FALSE(Find("all is well"));
}

TEST(ErrorFinder, ATracebackThatBreaksOffIsTakenAsFarAsItGoes) {
  const auto error = Find("Traceback (most recent call last):\n  File \"a\"");
  ASSERT_TRUE(error);
  EXPECT_THAT(error->lines, SizeIs(2));
  std::string endless = "Traceback (most recent call last):";
  for (int i = 0; i < 2000; ++i) endless += "\n  frame";
  EXPECT_THAT(Find(endless)->lines, SizeIs(ErrorFinder::kMaxLines));
}

/// The lines from the error's offset on.
std::string LinesAt(const std::string& path) {
  const std::optional<PrintedError> error = FindFirstErrorIn(path, 0, nullptr);
  if (!error) return "no error";
  const LogBytes bytes = LogBytes::Open(path).value();
  return bytes.Read(error->offset, 10).value_or("no bytes");
}

TEST(ErrorFinder, SaysWhereInTheLogTheErrorBegins) {
  os::TemporaryFolder folder;
  const std::string path = folder / "stderr.log";
  AppendLog(path, "fine\nbegins here: ");
  AppendLog(LogSegmentPath(path, 2), "OSError: 1\n");
  EXPECT_EQ(LinesAt(path), "begins her");
  EXPECT_EQ(FindFirstErrorIn(path, 0, nullptr)->offset, 5);
  AppendLog(folder / "other.log", "fine\n");
  AppendLog(LogSegmentPath(folder / "other.log", 3),
            "[tony: 1000 bytes of this log were dropped here, x]\n");
  AppendLog(LogSegmentPath(folder / "other.log", 4), "fine\nKeyError: 2\n");
  EXPECT_EQ(LinesAt(folder / "other.log"), "KeyError: ");
  EXPECT_EQ(FindFirstErrorIn(folder / "other.log", 0, nullptr)->offset, 5 + 1000 + 5);
}

}  // namespace
}  // namespace tony::logs
