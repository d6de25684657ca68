// The daemons' log: where its lines go, who may read them, and what they look like.
#include "common/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/fake_clock.h"
#include "tests/os/temporary_folder.h"

namespace tony {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

class LoggingTest : public ::testing::Test {
 protected:
  ~LoggingTest() override { (void)SetUpLogging("", LogLevel::kInfo); }

  std::vector<std::string> Lines() const {
    return absl::StrSplit(os::Contents(path_), '\n', absl::SkipEmpty());
  }

  os::TemporaryFolder folder_;
  const std::string path_ = folder_ / "daemon.log";
};

TEST_F(LoggingTest, WritesTimeLevelAndMessage) {
  ASSERT_TRUE(SetUpLogging(path_, LogLevel::kDebug).ok());
  LogDebug("one");
  LogInfo("two");
  LogWarning("three");
  LogError("four");
  const std::vector<std::string> lines = Lines();
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_THAT(lines[0],
              MatchesRegex("[0-9-]{10}T[0-9:]{8}\\.[0-9]{3}[+-][0-9]{2}:[0-9]{2} debug one"));
  EXPECT_THAT(lines[1], EndsWith(" info two"));
  EXPECT_THAT(lines[2], EndsWith(" warning three"));
  EXPECT_THAT(lines[3], EndsWith(" error four"));
}

TEST_F(LoggingTest, LeavesOutWhatIsBelowItsLevel) {
  ASSERT_TRUE(SetUpLogging(path_, LogLevel::kWarning).ok());
  LogDebug("one");
  LogInfo("two");
  LogWarning("three");
  const std::vector<std::string> lines = Lines();
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], EndsWith("three"));
}

TEST_F(LoggingTest, TakesAMessageAsItIs) {
  ASSERT_TRUE(SetUpLogging(path_, LogLevel::kInfo).ok());
  LogInfo("{} {0} %s %d \\n");
  EXPECT_THAT(os::Contents(path_), EndsWith(" info {} {0} %s %d \\n\n"));
}

// Messages quote what peers say: it forges no line, and steers no terminal that shows the log.
TEST_F(LoggingTest, AMessageIsOneLineOfHarmlessText) {
  ASSERT_TRUE(SetUpLogging(path_, LogLevel::kInfo).ok());
  LogInfo("peer says \x1b]0;PWNED\a\n2026-01-31T00:00:00 info forged");
  const std::vector<std::string> lines = Lines();
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], EndsWith(" info peer says  2026-01-31T00:00:00 info forged"));
}

TEST_F(LoggingTest, MakesAFileForItsOwnerOnly) {
  const os::ScopedUmask none(0);
  ASSERT_TRUE(SetUpLogging(path_, LogLevel::kInfo).ok());
  EXPECT_EQ(os::ModeOf(path_), 0600u);
}

TEST_F(LoggingTest, AppendsToWhatIsThere) {
  os::Put(path_, "of an earlier process\n");
  ASSERT_TRUE(SetUpLogging(path_, LogLevel::kInfo).ok());
  LogInfo("of this one");
  const std::vector<std::string> lines = Lines();
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0], "of an earlier process");
}

// /dev/null, for one, is not to be taken from everybody else.
TEST_F(LoggingTest, LeavesThePermissionsOfWhatIsThere) {
  os::Put(path_, "");
  ASSERT_EQ(chmod(path_.c_str(), 0666), 0);
  ASSERT_TRUE(SetUpLogging(path_, LogLevel::kInfo).ok());
  EXPECT_EQ(os::ModeOf(path_), 0666u);
}

TEST_F(LoggingTest, FallsBackToStandardErrorWhereNoFileCanBe) {
  for (const std::string& path : {folder_ / "no/such/folder.log", folder_.path()}) {
    testing::internal::CaptureStderr();
    const absl::Status status = SetUpLogging(path, LogLevel::kInfo);
    LogInfo("still heard");
    const std::string output = testing::internal::GetCapturedStderr();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
    EXPECT_THAT(output, EndsWith(" info still heard\n"));
  }
  EXPECT_FALSE(os::Exists(folder_ / "no"));
}

TEST_F(LoggingTest, KeepsTheLinesOfSeveralThreadsApart) {
  ASSERT_TRUE(SetUpLogging(path_, LogLevel::kInfo).ok());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      for (int i = 0; i < 250; ++i) LogInfo(absl::StrCat("thread ", thread, " line ", i, " end"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<std::string> lines = Lines();
  ASSERT_THAT(lines, SizeIs(1000));
  for (const std::string& line : lines) {
    EXPECT_THAT(line, MatchesRegex("[^ ]+ info thread [0-3] line [0-9]+ end"));
  }
}

TEST_F(LoggingTest, KeysFollowTheMessage) {
  ASSERT_TRUE(SetUpLogging(path_, LogLevel::kInfo).ok());
  const std::string task = "worker:0";
  LogInfo("executor attached", {{"task", task}, {"epoch", 1}, {"peer", "10.0.0.7:41234"}});
  EXPECT_THAT(os::Contents(path_),
              EndsWith(" info executor attached task=worker:0 epoch=1 peer=10.0.0.7:41234\n"));
}

TEST_F(LoggingTest, AKeyWithoutAValueIsLeftOut) {
  ASSERT_TRUE(SetUpLogging(path_, LogLevel::kInfo).ok());
  LogInfo("refused", {{"task", ""}, {"peer", "x"}});
  EXPECT_THAT(os::Contents(path_), EndsWith(" info refused peer=x\n"));
}

TEST_F(LoggingTest, AValueCannotPassForAnotherKey) {
  ASSERT_TRUE(SetUpLogging(path_, LogLevel::kInfo).ok());
  LogInfo("refused", {{"why", "no such\ntask=worker:1"}, {"name", "a\"b\\c"}, {"text", "a=b"}});
  EXPECT_THAT(
      os::Contents(path_),
      EndsWith(" info refused why=\"no such task=worker:1\" name=\"a\\\"b\\\\c\" text=\"a=b\"\n"));
}

TEST_F(LoggingTest, TheLevelChangesWhileTheProgramRuns) {
  ASSERT_TRUE(SetUpLogging(path_, LogLevel::kInfo).ok());
  LogDebug("one");
  SetLogLevel(LogLevel::kDebug);
  EXPECT_EQ(CurrentLogLevel(), LogLevel::kDebug);
  LogDebug("two");
  SetLogLevel(LogLevel::kError);
  EXPECT_EQ(CurrentLogLevel(), LogLevel::kError);
  LogWarning("three");
  EXPECT_THAT(Lines(), testing::ElementsAre(EndsWith(" debug two")));
}

TEST(LogLevelTest, NamesAreParsed) {
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    const absl::StatusOr<LogLevel> parsed = ParseLogLevel(LogLevelName(level));
    ASSERT_TRUE(parsed.ok()) << LogLevelName(level);
    EXPECT_EQ(*parsed, level);
  }
  const absl::Status unknown = ParseLogLevel("loud").status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(unknown.message(), "'loud' is no log level; there are debug, info, warning, error");
}

TEST_F(LoggingTest, TheLevelOfAWrittenLineIsRead) {
  ASSERT_TRUE(SetUpLogging(path_, LogLevel::kDebug).ok());
  LogDebug("one");
  LogWarning("");
  const std::vector<std::string> lines = Lines();
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(LevelOfLogLine(lines[0]), LogLevel::kDebug);
  EXPECT_EQ(LevelOfLogLine(lines[1]), LogLevel::kWarning);
}

TEST(LogLevelTest, OtherLinesHaveNone) {
  for (const char* line :
       {"", "Traceback (most recent call last):", "warning: x", "2026-01-31T12:34:56 info x",
        "2026-01-31T12:34:56.789+01:00 loud x", "2026-01-31T12:34:56.789+01:00 "}) {
    EXPECT_EQ(LevelOfLogLine(line), std::nullopt) << line;
  }
  EXPECT_EQ(LevelOfLogLine("2026-01-31T12:34:56.789-08:00 error x"), LogLevel::kError);
}

TEST_F(LoggingTest, ALimitedPlaceWritesOneLineASecondAndSaysHowManyWereLeftOut) {
  ASSERT_TRUE(SetUpLogging(path_, LogLevel::kInfo).ok());
  FakeClock clock;
  LogLimit limit(clock);
  for (int i = 0; i < 100; ++i) limit.Log(LogLevel::kWarning, "refused", {{"peer", i}});
  clock.Advance(LogLimit::kPause);
  limit.Log(LogLevel::kDebug, "below the level");
  limit.Log(LogLevel::kWarning, "refused", {{"peer", 100}});
  clock.Advance(LogLimit::kPause);
  limit.Log(LogLevel::kWarning, "refused", {{"peer", 101}});
  EXPECT_THAT(Lines(), testing::ElementsAre(EndsWith(" warning refused peer=0"),
                                            EndsWith(" warning refused peer=100 left_out=99"),
                                            EndsWith(" warning refused peer=101")));
}

}  // namespace
}  // namespace tony
