// A job's files in a folder.
#include "storage/local_job_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "os/files/files.h"
#include "tests/os/temporary_folder.h"

namespace tony::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LocalJobFilesTest : public ::testing::Test {
 protected:
  os::TemporaryFolder folder_;
  LocalJobFiles files_{folder_ / "job-1"};
};

TEST_F(LocalJobFilesTest, AFileIsMadeOnceAndReadAgain) {
  EXPECT_EQ(files_.Read("journal/1").status().code(), absl::StatusCode::kNotFound);
  ASSERT_EQ(files_.Create("journal/1", "first"), absl::OkStatus());
  EXPECT_EQ(files_.Create("journal/1", "second").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(files_.Read("journal/1").value(), "first");
}

TEST_F(LocalJobFilesTest, AFileIsReplaced) {
  ASSERT_EQ(files_.Replace("am.address", "one"), absl::OkStatus());
  ASSERT_EQ(files_.Replace("am.address", "another"), absl::OkStatus());
  EXPECT_EQ(files_.Read("am.address").value(), "another");
}

TEST_F(LocalJobFilesTest, FilesAreListedByName) {
  EXPECT_THAT(files_.List("events").value(), ElementsAre());
  for (const char* name : {"events/2", "events/10", "events/1"}) {
    ASSERT_EQ(files_.Create(name, ""), absl::OkStatus());
  }
  EXPECT_THAT(files_.List("events").value(), ElementsAre("1", "10", "2"));
  os::Put(folder_ / "job-1/file", "");
  EXPECT_FALSE(files_.List("file").ok());
}

TEST_F(LocalJobFilesTest, AFileIsCopiedOnceAndDescribed) {
  EXPECT_EQ(files_.Describe("cache/a").status().code(), absl::StatusCode::kNotFound);
  os::Put(folder_ / "archive", "12345");
  ASSERT_EQ(files_.CreateFrom("cache/a", folder_ / "archive"), absl::OkStatus());
  EXPECT_EQ(os::Contents(folder_ / "job-1/cache/a"), "12345");
  os::Put(folder_ / "archive", "another");
  EXPECT_EQ(files_.CreateFrom("cache/a", folder_ / "archive").code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(files_.Read("cache/a").value(), "12345");
  EXPECT_THAT(files_.List("cache").value(), ElementsAre("a"));

  struct timespec times[2] = {{.tv_sec = 1, .tv_nsec = 0},
                              {.tv_sec = 1700000000, .tv_nsec = 123'999'999}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (folder_ / "job-1/cache/a").c_str(), times, 0), 0);
  const auto described = files_.Describe("cache/a");
  ASSERT_TRUE(described.ok()) << described.status();
  EXPECT_EQ(described->bytes, 5);
  EXPECT_EQ(described->modified_millis, 1700000000123);
}

TEST_F(LocalJobFilesTest, NothingIsLeftOfACopyThatFails) {
  const absl::Status missing = files_.CreateFrom("cache/a", folder_ / "nobody");
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr(folder_ / "nobody"));
  EXPECT_FALSE(files_.CreateFrom("cache/a", folder_.path()).ok());
  EXPECT_THAT(files_.List("cache").value(), ElementsAre());
}

TEST_F(LocalJobFilesTest, WhatIsCopiedIsForItsOwnerAlone) {
  os::Put(folder_ / "archive", "12345");
  ASSERT_EQ(::chmod((folder_ / "archive").c_str(), 0644), 0);
  ASSERT_EQ(files_.CreateFrom("staged/a", folder_ / "archive"), absl::OkStatus());
  EXPECT_EQ(os::ModeOf(folder_ / "job-1/staged/a") & 0077, 0);
}

TEST_F(LocalJobFilesTest, WhatIsRemovedIsGone) {
  ASSERT_EQ(files_.Create("events/1", ""), absl::OkStatus());
  EXPECT_EQ(files_.Remove("events"), absl::OkStatus());
  EXPECT_EQ(files_.Remove("events"), absl::OkStatus());
  EXPECT_THAT(files_.List("events").value(), ElementsAre());
}

}  // namespace
}  // namespace tony::storage
