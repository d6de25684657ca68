// Names of a log's files, and the records of times.
#include "logs/log_segments.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/files/unique_fd.h"
#include "tests/os/temporary_folder.h"

namespace tony::logs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LogSegments, NamesSortInTheirOrder) {
  EXPECT_EQ(LogSegmentPath("/l/stdout.log", 1), "/l/stdout.log");
  EXPECT_EQ(LogSegmentPath("/l/stdout.log", 2), "/l/stdout.log.00002");
  EXPECT_EQ(LogTimesPath("/l/stdout.log", 1), "/l/stdout.times");
  EXPECT_EQ(LogTimesPath("/l/stdout.log", 12), "/l/stdout.times.00012");
  EXPECT_LT(LogSegmentPath("a.log", 9), LogSegmentPath("a.log", 10));
}

TEST(LogSegments, NamesAreTakenApart) {
  EXPECT_EQ(ParseLogSegment("/l/stdout.log")->number, 1);
  EXPECT_EQ(ParseLogSegment("/l/stdout.log.00012")->number, 12);
  EXPECT_EQ(ParseLogSegment("/l/stdout.log.00012")->path, "/l/stdout.log");
  EXPECT_EQ(ParseLogSegment(LogSegmentPath("/l/stdout.log", 123456))->number, 123456);
  for (const char* other : {"/l/stdout.times", "/l/stdout.times.00002", "/l/stdout.log.2",
                            "/l/stdout.log.00001", "/l/stdout.log.+0002", "/l/stdout", "", "log"}) {
    EXPECT_FALSE(ParseLogSegment(other)) << other;
  }
}

TEST(LogSegments, FindsThoseOfOneLog) {
  os::TemporaryFolder folder;
  EXPECT_THAT(FindLogSegments(folder / "stdout.log"), IsEmpty());
  for (const char* name : {"stdout.log.00010", "stdout.log", "stdout.log.00009", "stderr.log.00002",
                           "stdout.times.00009", "stdout.log.x"}) {
    os::Put(folder / name, "");
  }
  EXPECT_THAT(FindLogSegments(folder / "stdout.log"), ElementsAre(1, 9, 10));
  EXPECT_THAT(FindLogSegments(folder / "none/stdout.log"), IsEmpty());
}

TEST(LogSegments, TimesAreReadBackAsTheyWereWritten) {
  os::TemporaryFolder folder;
  const LogTime first{0, 1'763'788'721'123};
  const LogTime second{int64_t{1} << 40, -1};
  os::Put(folder / "a.times", EncodeLogTime(first) + EncodeLogTime(second) + "half a record");
  const os::UniqueFd fd(open((folder / "a.times").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_THAT(ReadLogTimes(fd.get(), 0, 100), ElementsAre(first, second));
  EXPECT_THAT(ReadLogTimes(fd.get(), 1, 1), ElementsAre(second));
  EXPECT_THAT(ReadLogTimes(fd.get(), 2, 1), IsEmpty());
  EXPECT_THAT(ReadLogTimes(-1, 0, 1), IsEmpty());
}

}  // namespace
}  // namespace tony::logs
