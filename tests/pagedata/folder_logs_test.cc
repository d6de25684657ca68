// The end of a log, over its segments.
#include "pagedata/folder_logs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "logs/log_segments.h"
#include "os/files/files.h"
#include "tests/os/temporary_folder.h"

namespace tony::pagedata {
namespace {

class FolderLogsTest : public ::testing::Test {
 protected:
  FolderLogsTest() { EXPECT_TRUE(os::MakeFolders(folder()).ok()); }

  std::string folder() const { return job_.task_logs({"worker", 0}) + "/attempt-2"; }
  std::string path() const { return folder() + "/stderr.log"; }
  void Write(int segment, const std::string& bytes) {
    ASSERT_TRUE(os::WriteFileAtomically(logs::LogSegmentPath(path(), segment), bytes).ok());
  }
  absl::StatusOr<web::LogTail> Read(size_t most) {
    std::optional<absl::StatusOr<web::LogTail>> tail;
    FolderLogs(job_).ReadTail({"worker", 0}, 2, web::LogSource::Stream::kStderr, most,
                              [&](auto read) { tail = std::move(read); });
    return tail.value_or(absl::InternalError("not answered"));
  }

  os::TemporaryFolder temporary_;
  const storage::JobFolder job_{temporary_.path() + "/job"};
};

TEST_F(FolderLogsTest, AllOfAShortOne) {
  Write(1, "one\n");
  const auto tail = Read(100);
  ASSERT_TRUE(tail.ok()) << tail.status();
  EXPECT_EQ(tail->bytes, "one\n");
  EXPECT_EQ(tail->left_out, 0);
}

TEST_F(FolderLogsTest, TheEndOfALongOneOverItsSegments) {
  Write(1, "0123");
  Write(3, "4567");
  Write(4, "89");
  const auto tail = Read(5);
  ASSERT_TRUE(tail.ok()) << tail.status();
  EXPECT_EQ(tail->bytes, "56789");
  EXPECT_EQ(tail->left_out, 5);
}

TEST_F(FolderLogsTest, NoLog) { EXPECT_TRUE(absl::IsNotFound(Read(5).status())); }

TEST_F(FolderLogsTest, NeitherLinksNorPipes) {
  Write(2, "second");
  ASSERT_EQ(::symlink("/etc/passwd", path().c_str()), 0);
  EXPECT_FALSE(Read(1000).ok());
  ASSERT_EQ(::unlink(path().c_str()), 0);
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  const auto tail = Read(1000);
  ASSERT_TRUE(tail.ok()) << tail.status();
  EXPECT_EQ(tail->bytes, "second");
}

}  // namespace
}  // namespace tony::pagedata
