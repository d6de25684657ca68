// Tests which files a configuration may name, and the parts of messages for those that it may not.
#include "jobfile/xml/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/os/temporary_folder.h"

namespace tony::jobfile {
namespace {

using ::testing::StartsWith;

class FilesTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& contents) {
    std::ofstream(folder_ / name, std::ios::binary) << contents;
    return folder_ / name;
  }
  /// Both functions refuse the path for the same reason.
  static void ExpectRefused(const std::string& path, absl::StatusCode code,
                            const std::string& begin) {
    for (const absl::Status& status : {CheckReadable(path), ReadFile(path, 100).status()}) {
      EXPECT_EQ(status.code(), code) << status;
      EXPECT_THAT(std::string(status.message()), StartsWith(begin));
    }
  }

  os::TemporaryFolder folder_;
};

TEST_F(FilesTest, FilesAndFoldersAreReadable) {
  EXPECT_TRUE(CheckReadable(folder_.path()).ok());
  EXPECT_TRUE(CheckReadable(Write("job.xml", "<a/>")).ok());
  EXPECT_EQ(ReadFile(folder_ / "job.xml", 100).value(), "<a/>");
  EXPECT_EQ(ReadFile(Write("empty", ""), 0).value(), "");
}

TEST_F(FilesTest, AMissingPathIsNotFound) {
  ExpectRefused(folder_ / "none", absl::StatusCode::kNotFound, "does not exist");
  ExpectRefused(Write("file", "") + "/below", absl::StatusCode::kNotFound, "does not exist");
  ASSERT_EQ(::symlink("nowhere", (folder_ / "dangling").c_str()), 0);
  ExpectRefused(folder_ / "dangling", absl::StatusCode::kNotFound, "does not exist");
}

TEST_F(FilesTest, LinksInACircleCannotBeRead) {
  ASSERT_EQ(::symlink("circle", (folder_ / "circle").c_str()), 0);
  ExpectRefused(folder_ / "circle", absl::StatusCode::kPermissionDenied, "cannot be read: ");
}

TEST_F(FilesTest, AFileWithoutPermissionCannotBeRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const std::string path = Write("secret", "x");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  ExpectRefused(path, absl::StatusCode::kPermissionDenied, "cannot be read: ");
}

TEST_F(FilesTest, APipeIsNotOpened) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  ExpectRefused(folder_ / "pipe", absl::StatusCode::kFailedPrecondition, "is neither a file nor");
}

TEST_F(FilesTest, AFolderHasNoContent) {
  const absl::Status status = ReadFile(folder_.path(), 100).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "is a folder, not a file");
}

TEST_F(FilesTest, ALargerFileThanTheLimitIsNotRead) {
  EXPECT_EQ(ReadFile(Write("ten", "0123456789"), 10).value(), "0123456789");
  const absl::Status status = ReadFile(folder_ / "ten", 9).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "is 10 bytes large; at most 9 are read");
}

}  // namespace
}  // namespace tony::jobfile
