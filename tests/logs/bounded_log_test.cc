// A log that has got long goes on in another file.
#include "logs/bounded_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "logs/log_segments.h"
#include "os/files/files.h"
#include "os/files/unique_fd.h"
#include "tests/os/temporary_folder.h"

namespace tony::logs {
namespace {

class BoundedLogTest : public ::testing::Test {
 protected:
  static os::UniqueFd Open(const std::string& path) {
    return os::UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  }
  void Write(const std::string& text) {
    ASSERT_EQ(::write(log_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  os::TemporaryFolder folder_;
  const std::string path_ = folder_ / "executor.log";
  os::UniqueFd log_ = Open(path_);
  os::UniqueFd twin_ = Open(path_);
};

TEST_F(BoundedLogTest, GoesOnInTheNextSegmentWhenThisOneIsFull) {
  Write("12345");
  ASSERT_TRUE(BoundLog(log_.get(), twin_.get(), 6).ok());
  EXPECT_EQ(FindLogSegments(path_), (std::vector<int>{1}));
  Write("6");
  ASSERT_TRUE(BoundLog(log_.get(), twin_.get(), 6).ok());
  Write("next");
  EXPECT_EQ(*os::ReadFile(path_), "123456");
  EXPECT_EQ(*os::ReadFile(LogSegmentPath(path_, 2)), "next");
}

TEST_F(BoundedLogTest, KeepsTheFirstSegmentAndTheLastFullOne) {
  for (int number = 1; number <= 5; ++number) {
    Write(absl::StrCat("segment ", number));
    ASSERT_TRUE(BoundLog(log_.get(), twin_.get(), 5).ok());
  }
  EXPECT_EQ(FindLogSegments(path_), (std::vector<int>{1, 5, 6}));
  EXPECT_EQ(*os::ReadFile(LogSegmentPath(path_, 5)), "segment 5");
}

TEST_F(BoundedLogTest, TakesTheTwinAlongUnlessItIsAnotherFile) {
  os::UniqueFd other = Open(folder_ / "other.log");
  Write("full");
  ASSERT_TRUE(BoundLog(log_.get(), other.get(), 4).ok());
  ASSERT_EQ(::write(other.get(), "mine", 4), 4);
  EXPECT_EQ(*os::ReadFile(folder_ / "other.log"), "mine");
  Write("full");
  ASSERT_EQ(::dup2(log_.get(), twin_.get()), twin_.get());
  ASSERT_TRUE(BoundLog(log_.get(), twin_.get(), 4).ok());
  ASSERT_EQ(::write(twin_.get(), "too", 3), 3);
  EXPECT_EQ(*os::ReadFile(LogSegmentPath(path_, 3)), "too");
}

TEST_F(BoundedLogTest, LeavesAloneWhatIsNoLog) {
  os::UniqueFd other = Open(folder_ / "output");
  ASSERT_EQ(::write(other.get(), "full", 4), 4);
  EXPECT_TRUE(BoundLog(other.get(), other.get(), 1).ok());
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const os::UniqueFd reader(ends[0]);
  const os::UniqueFd writer(ends[1]);
  EXPECT_TRUE(BoundLog(writer.get(), writer.get(), 0).ok());
  EXPECT_TRUE(BoundLog(-1, -1, 0).ok());
}

TEST_F(BoundedLogTest, SaysWhyItCannot) {
  Write("full");
  ASSERT_TRUE(os::MakeFolders(LogSegmentPath(path_, 2), 0700).ok());
  EXPECT_FALSE(BoundLog(log_.get(), twin_.get(), 4).ok());
  Write("er");
  EXPECT_EQ(*os::ReadFile(path_), "fuller");
}

}  // namespace
}  // namespace tony::logs
