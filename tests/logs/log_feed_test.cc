// Logs in a real folder, read piece by piece while they grow.
#include "logs/log_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>
#include <map>
#include <vector>

#include "logs/log_segments.h"
#include "os/files/files.h"
#include "os/files/wait_readable.h"
#include "tests/os/temporary_folder.h"

namespace tony::logs {
namespace {

using Stream = ContainerLogFile::Stream;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

bool All(const ContainerLogFile& /*file*/) { return true; }

void Append(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::app) << bytes;
}

class LogFeedTest : public ::testing::Test {
 protected:
  std::unique_ptr<LogFeed> Open(bool follow, LogFeed::Wanted wanted = All) {
    auto feed = LogFeed::Open(folder_.path(), std::move(wanted), follow);
    EXPECT_TRUE(feed.ok()) << feed.status();
    return *std::move(feed);
  }
  /// "name@offset: bytes" of what there is now.
  static std::vector<std::string> Pieces(LogFeed& feed) {
    std::vector<std::string> pieces;
    while (const auto piece = feed.Next()) {
      pieces.push_back(
          absl::StrCat(ContainerLogName(piece->file), "@", piece->offset, ": ", piece->bytes));
    }
    return pieces;
  }

  os::TemporaryFolder folder_;
};

TEST_F(LogFeedTest, GivesWhatIsThereOnceAndNothingElse) {
  os::Put(folder_ / "attempt-1.stdout.log", "out");
  os::Put(folder_ / "attempt-1.stderr.log", "err");
  os::Put(folder_ / "executor.log", "executor");
  os::Put(folder_ / "prelaunch.err", "no log of ours");
  os::Put(folder_ / "attempt-1.stdout.log.00002", "more");
  os::Put(folder_ / "sub/attempt-1.stdout.log", "of somebody else");
  const auto feed = Open(/*follow=*/false);
  EXPECT_THAT(Pieces(*feed),
              ElementsAre("attempt-1.stdout.log@0: out", "attempt-1.stdout.log.00002@0: more",
                          "attempt-1.stderr.log@0: err", "executor.log@0: executor"));
  EXPECT_THAT(Pieces(*feed), IsEmpty());
}

TEST_F(LogFeedTest, OnlyWhatIsWanted) {
  os::Put(folder_ / "attempt-1.stdout.log", "out");
  os::Put(folder_ / "attempt-2.stdout.log", "again");
  const auto feed = Open(false, [](const ContainerLogFile& file) { return file.attempt == 2; });
  EXPECT_THAT(Pieces(*feed), ElementsAre("attempt-2.stdout.log@0: again"));
}

TEST_F(LogFeedTest, GoesOnAsFilesGrowAndCome) {
  os::Put(folder_ / "attempt-1.stdout.log", "one\n");
  const auto feed = Open(/*follow=*/true);
  EXPECT_THAT(Pieces(*feed), ElementsAre("attempt-1.stdout.log@0: one\n"));
  Append(folder_ / "attempt-1.stdout.log", "two\n");
  EXPECT_TRUE(os::WaitReadable(feed->fd(), std::chrono::seconds(30)));
  EXPECT_THAT(Pieces(*feed), ElementsAre("attempt-1.stdout.log@4: two\n"));
  Append(folder_ / "attempt-2.stderr.log", "new");
  EXPECT_TRUE(os::WaitReadable(feed->fd(), std::chrono::seconds(30)));
  EXPECT_THAT(Pieces(*feed), ElementsAre("attempt-2.stderr.log@0: new"));
}

TEST_F(LogFeedTest, TimesComeBeforeTheirBytes) {
  const auto feed = Open(/*follow=*/true);
  const std::string time = EncodeLogTime({0, 1'700'000'000'000});
  Append(folder_ / "attempt-1.stdout.times", time);
  Append(folder_ / "attempt-1.stdout.log", "x");
  EXPECT_THAT(Pieces(*feed),
              ElementsAre("attempt-1.stdout.times@0: " + time, "attempt-1.stdout.log@0: x"));
}

TEST_F(LogFeedTest, PiecesAreBounded) {
  os::Put(folder_ / "attempt-1.stdout.log", std::string(3 * LogFeed::kMostBytes + 1, 'x'));
  const auto feed = Open(/*follow=*/false);
  size_t size = 0, pieces = 0;
  while (const auto piece = feed->Next()) {
    EXPECT_LE(piece->bytes.size(), LogFeed::kMostBytes);
    EXPECT_EQ(piece->offset, static_cast<int64_t>(size));
    size += piece->bytes.size();
    ++pieces;
  }
  EXPECT_EQ(size, 3 * LogFeed::kMostBytes + 1);
  EXPECT_EQ(pieces, 4u);
}

TEST_F(LogFeedTest, ALogThatNeverEndsLetsOthersHaveTheirTurn) {
  const std::string endless = folder_ / "attempt-1.stdout.log";
  Append(endless, "x");
  os::Put(folder_ / "executor.log", "seen");
  const auto feed = Open(/*follow=*/true);
  for (int i = 0; i < 10; ++i) {
    const auto piece = feed->Next();
    ASSERT_TRUE(piece.has_value());
    if (piece->bytes == "seen") return;
    Append(endless, "x");
  }
  FAIL() << "the other log has not come";
}

TEST_F(LogFeedTest, AReplacedFileComesFromItsStartAsAnother) {
  const std::string path = folder_ / "attempt-1.stdout.log.00002";
  os::Put(path, "a segment that will be dropped");
  const auto feed = Open(/*follow=*/true);
  const auto before = feed->Next();
  ASSERT_TRUE(before.has_value());
  ASSERT_TRUE(os::WriteFileAtomically(path, "dropped").ok());
  const auto after = feed->Next();
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(after->bytes, "dropped");
  EXPECT_EQ(after->offset, 0);
  EXPECT_NE(after->version, before->version);
}

TEST_F(LogFeedTest, WhatTheProgramHasPutInAPlaceOfALogIsLeftOut) {
  os::Put(folder_ / "secret", "not a log");
  ASSERT_EQ(symlink((folder_ / "secret").c_str(), (folder_ / "attempt-1.stdout.log").c_str()), 0);
  ASSERT_EQ(mkfifo((folder_ / "attempt-1.stderr.log").c_str(), 0600), 0);
  std::filesystem::create_directory(folder_ / "executor.log");
  EXPECT_THAT(Pieces(*Open(/*follow=*/true)), IsEmpty());
}

TEST_F(LogFeedTest, ThatAFileCannotBeReadIsNotItsEnd) {
  os::Put(folder_ / "attempt-1.stdout.log", "out");
  const auto feed = Open(/*follow=*/true);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{0, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto piece = feed->Next();
  const auto again = feed->Next();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_TRUE(piece.has_value());
  EXPECT_EQ(piece->bytes, "");
  EXPECT_THAT(piece->trouble,
              HasSubstr("attempt-1.stdout.log cannot be read: Too many open files"));
  EXPECT_FALSE(again.has_value()) << again->trouble;
  Append(folder_ / "attempt-1.stdout.log", " and more");
  EXPECT_THAT(Pieces(*feed), ElementsAre("attempt-1.stdout.log@0: out and more"));
}

TEST_F(LogFeedTest, AFolderThatIsNotThere) {
  const auto feed = LogFeed::Open(folder_ / "none", All, /*follow=*/true);
  EXPECT_TRUE(absl::IsNotFound(feed.status())) << feed.status();
}

}  // namespace
}  // namespace tony::logs
