// A job's files in a folder.
#include "backend/local_job_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/files.h"
#include "tests/os/temporary_folder.h"

namespace tony::backend {
namespace {

using ::testing::ElementsAre;

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

TEST_F(LocalJobFilesTest, WhatIsRemovedIsGone) {
  ASSERT_EQ(files_.Create("events/1", ""), absl::OkStatus());
  EXPECT_EQ(files_.Remove("events"), absl::OkStatus());
  EXPECT_EQ(files_.Remove("events"), absl::OkStatus());
  EXPECT_THAT(files_.List("events").value(), ElementsAre());
}

}  // namespace
}  // namespace tony::backend
