// Pieces of logs of containers, laid out as a local job's.
#include "history/log_mirror.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "logs/log_reader.h"
#include "logs/log_segments.h"
#include "tests/os/temporary_folder.h"

namespace tony::history {
namespace {

using Stream = logs::ContainerLogFile::Stream;
using ::testing::ElementsAre;

const LogOrigin kWorker{"worker:0", "worker-0", "c1", ""};
const LogOrigin kWorkerAgain{"worker:0", "worker-0", "c2", ""};
const LogOrigin kMaster{"am", "", "am.1", "", 1};
constexpr logs::ContainerLogFile kStdout{Stream::kStdout, 1, 1, false};
constexpr logs::ContainerLogFile kExecutor{Stream::kExecutor, 0, 1, false};

class LogMirrorTest : public ::testing::Test {
 protected:
  absl::Status Take(const LogOrigin& origin, const logs::ContainerLogFile& file, int64_t offset,
                    const std::string& bytes, int64_t version = 1) {
    return mirror_.Take(origin, {file, version, offset, bytes});
  }
  static std::vector<std::string> Lines(const std::string& path) {
    logs::LogReader reader(path);
    logs::LogLine line;
    std::vector<std::string> lines;
    while (reader.Finish(&line)) lines.push_back(line.text);
    return lines;
  }

  os::TemporaryFolder folder_;
  LogMirror mirror_{storage::JobFolder(folder_.path())};
};

TEST_F(LogMirrorTest, LaysOutWhatALocalJobHas) {
  logs::ContainerLogFile times = kStdout, second = kStdout;
  times.times = true;
  second.segment = 2;
  EXPECT_TRUE(Take(kWorker, kStdout, 0, "one").ok());
  EXPECT_TRUE(Take(kWorker, times, 0, "t").ok());
  EXPECT_TRUE(Take(kWorker, second, 0, "two").ok());
  EXPECT_TRUE(Take(kWorker, kExecutor, 0, "executor").ok());
  EXPECT_TRUE(Take(kMaster, {Stream::kMaster, 0, 1, false}, 0, "master").ok());
  const std::string logs = absl::StrCat(folder_.path(), "/logs/");
  EXPECT_EQ(os::Contents(logs + "worker-0/attempt-1/stdout.log"), "one");
  EXPECT_EQ(os::Contents(logs + "worker-0/attempt-1/stdout.times"), "t");
  EXPECT_EQ(os::Contents(logs + "worker-0/attempt-1/stdout.log.00002"), "two");
  EXPECT_EQ(os::Contents(logs + "worker-0/executor.log"), "executor");
  EXPECT_EQ(os::Contents(logs + "am.log"), "master");
}

TEST_F(LogMirrorTest, StacksLieBesideTheLogsOfTheirAttempt) {
  EXPECT_TRUE(Take(kWorker, {Stream::kStacks, 2, 1, false}, 0, "stacks").ok());
  EXPECT_EQ(os::Contents(folder_.path() + "/logs/worker-0/attempt-2/stacks.txt"), "stacks");
}

TEST_F(LogMirrorTest, AnEmptyLogIsThere) {
  EXPECT_TRUE(Take(kWorker, kStdout, 0, "").ok());
  const std::string path = folder_.path() + "/logs/worker-0/attempt-1/stdout.log";
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_TRUE(Take(kWorker, kStdout, 0, "one").ok());
  EXPECT_TRUE(Take(kWorker, kStdout, 3, "").ok());
  EXPECT_EQ(os::Contents(path), "one");
}

// The rest of a log would not be where a reader looks for it, so nothing comes after what is left
// out.
TEST_F(LogMirrorTest, NoMoreIsWrittenThanMayBe) {
  LogMirror small(storage::JobFolder(folder_.path()), LogMirror::kFileBytes + 6);
  EXPECT_TRUE(small.Take(kWorker, {kStdout, 1, 0, "one"}).ok());
  EXPECT_TRUE(absl::IsOutOfRange(small.Take(kWorker, {kStdout, 1, 3, " two"})));
  EXPECT_TRUE(absl::IsOutOfRange(small.Take(kWorker, {kExecutor, 1, 0, "x"})));
  EXPECT_EQ(os::Contents(folder_.path() + "/logs/worker-0/attempt-1/stdout.log"), "one");
  EXPECT_TRUE(small.full());
  EXPECT_TRUE(small.failure().ok()) << "nothing is wrong with the disk";
}

TEST_F(LogMirrorTest, AFailureOfTheDiskIsKept) {
  os::Put(folder_ / "logs", "no folder");
  const absl::Status failed = Take(kWorker, kStdout, 0, "one");
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(mirror_.failure(), failed);
}

TEST_F(LogMirrorTest, BytesThatComeAgainChangeNothing) {
  EXPECT_TRUE(Take(kWorker, kExecutor, 0, "one two").ok());
  EXPECT_TRUE(Take(kWorker, kExecutor, 0, "one").ok());
  EXPECT_TRUE(Take(kWorker, kExecutor, 4, "two three").ok());
  EXPECT_EQ(os::Contents(folder_.path() + "/logs/worker-0/executor.log"), "one two three");
  EXPECT_EQ(mirror_.SizeOf(kWorker, kExecutor), 13);
}

TEST_F(LogMirrorTest, WhatIsMissingInBetweenIsAnError) {
  EXPECT_TRUE(Take(kWorker, kExecutor, 0, "one").ok());
  EXPECT_TRUE(absl::IsDataLoss(Take(kWorker, kExecutor, 4, "three")));
  EXPECT_TRUE(absl::IsDataLoss(Take(kWorker, kExecutor, 3, "of another file", 2)));
}

TEST_F(LogMirrorTest, AReplacedFileIsReplaced) {
  EXPECT_TRUE(Take(kWorker, kExecutor, 0, "many lines").ok());
  EXPECT_TRUE(Take(kWorker, kExecutor, 0, "dropped", 2).ok());
  EXPECT_EQ(os::Contents(folder_.path() + "/logs/worker-0/executor.log"), "dropped");
  EXPECT_EQ(mirror_.VersionOf(kWorker, kExecutor), 2);
}

TEST_F(LogMirrorTest, TheNextContainersLogFollowsTheLastOnes) {
  logs::ContainerLogFile second = kExecutor;
  second.segment = 2;
  EXPECT_TRUE(Take(kWorker, kExecutor, 0, "one\n").ok());
  EXPECT_TRUE(Take(kWorkerAgain, kExecutor, 0, "three\n").ok());
  EXPECT_TRUE(Take(kWorker, second, 0, "two\n").ok());
  EXPECT_THAT(Lines(folder_.path() + "/logs/worker-0/executor.log"),
              ElementsAre("one", "two", "three"));
}

TEST_F(LogMirrorTest, ContainersMayHaveTheirPlaces) {
  LogOrigin second = kWorkerAgain, first = kWorker;
  second.order = 2;
  first.order = 1;
  EXPECT_TRUE(Take(second, kExecutor, 0, "later\n").ok());
  EXPECT_THAT(Lines(folder_.path() + "/logs/worker-0/executor.log"), ElementsAre("later"));
  EXPECT_TRUE(Take(first, kExecutor, 0, "earlier\n").ok());
  const std::string log = folder_.path() + "/logs/worker-0/executor.log";
  EXPECT_THAT(Lines(log), ElementsAre("earlier", "later"));
  // Another mirror of the same folder writes the same files.
  LogMirror next{storage::JobFolder(folder_.path())};
  EXPECT_TRUE(next.Take(second, {kExecutor, 1, 0, "later\n"}).ok());
  EXPECT_THAT(Lines(log), ElementsAre("earlier", "later"));
}

TEST_F(LogMirrorTest, WhatTheWriterHasDroppedIsDropped) {
  const auto segment = [](Stream stream, int number, bool times = false) {
    return logs::ContainerLogFile{stream, stream == Stream::kStdout ? 1 : 0, number, times};
  };
  for (int number = 1; number <= 5; ++number) {
    EXPECT_TRUE(Take(kWorker, segment(Stream::kExecutor, number), 0, "x\n").ok());
    EXPECT_TRUE(Take(kWorker, segment(Stream::kStdout, number, true), 0, "t").ok());
    EXPECT_TRUE(Take(kWorker, segment(Stream::kStdout, number), 0, "x\n").ok());
  }
  const std::string folder = folder_.path() + "/logs/worker-0/";
  EXPECT_THAT(logs::FindLogSegments(folder + "executor.log"), ElementsAre(1, 4, 5));
  const std::string log = folder + "attempt-1/stdout.log";
  EXPECT_THAT(logs::FindLogSegments(log), ElementsAre(1, 2, 3, 4, 5));
  // The second segment, then the third one, is replaced by a line that says so.
  for (int number : {2, 3}) {
    EXPECT_TRUE(Take(kWorker, segment(Stream::kStdout, number), 0, "dropped\n", 2).ok());
    EXPECT_FALSE(std::filesystem::exists(logs::LogTimesPath(log, number)));
  }
  EXPECT_THAT(logs::FindLogSegments(log), ElementsAre(1, 3, 4, 5));
  EXPECT_THAT(Lines(log), ElementsAre("x", "dropped", "x", "x"));
}

TEST_F(LogMirrorTest, NothingIsWrittenOutsideOfTheFolder) {
  for (const char* folder : {"../../x-0", "..", ".", "a/b-0", "/tmp/x-0", ".x-0", "worker"}) {
    const absl::Status taken = Take({"x:0", folder, "c1", ""}, kExecutor, 0, "bytes");
    EXPECT_TRUE(absl::IsInvalidArgument(taken)) << folder << ": " << taken;
  }
  // Numbers that no file has, and logs that are not this origin's.
  EXPECT_FALSE(Take(kWorker, {Stream::kStdout, -1, 1, false}, 0, "x").ok());
  EXPECT_FALSE(Take(kWorker, {Stream::kStdout, 1, -1, false}, 0, "x").ok());
  EXPECT_FALSE(Take(kWorker, {Stream::kMaster, 0, 1, false}, 0, "x").ok());
  EXPECT_FALSE(Take(kMaster, kExecutor, 0, "x").ok());
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/logs"));
}

TEST_F(LogMirrorTest, NothingIsWrittenAfterItsEnd) {
  EXPECT_TRUE(Take(kWorker, kExecutor, 0, "one").ok());
  mirror_.Close();
  EXPECT_TRUE(absl::IsCancelled(Take(kWorker, kExecutor, 3, "two")));
  EXPECT_TRUE(absl::IsCancelled(Take(kWorkerAgain, kExecutor, 0, "two")));
  EXPECT_EQ(os::Contents(folder_.path() + "/logs/worker-0/executor.log"), "one");
}

TEST_F(LogMirrorTest, ALinkInItsPlaceIsNotFollowed) {
  const std::string logs = absl::StrCat(folder_.path(), "/logs/worker-0");
  std::filesystem::create_directories(logs);
  std::filesystem::create_symlink(folder_.path() + "/elsewhere", logs + "/executor.log");
  EXPECT_FALSE(Take({"worker:0", "worker-0", "c1", ""}, kExecutor, 0, "x", 0).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/elsewhere"));
}

}  // namespace
}  // namespace tony::history
