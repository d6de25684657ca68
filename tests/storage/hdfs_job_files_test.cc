// A job's files in an HDFS of the test's own.
#include "storage/hdfs_job_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "storage/archived_events.h"
#include "tests/hadoop/fakes/fake_name_node.h"
#include "tests/os/temporary_folder.h"

namespace tony::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class HdfsJobFilesTest : public ::testing::Test {
 protected:
  HdfsJobFiles Open() { return HdfsJobFiles(name_node_.Client(), "/jobs/job-1"); }
  hadoop::FakeNameNode::File FileAt(const std::string& name) {
    return name_node_.files().at("/jobs/job-1/" + name);
  }
  /// Files that were not renamed to their final names.
  std::vector<std::string> Aside() {
    std::vector<std::string> aside;
    for (const auto& [path, file] : name_node_.files()) {
      if (absl::StrContains(path, "/.tony-")) aside.push_back(path);
    }
    return aside;
  }

  hadoop::FakeNameNode name_node_;
  HdfsJobFiles files_ = Open();
};

// All bytes, since a certificate's key or a journal's entry may be any.
std::string Bytes(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + i / 256);
  return bytes;
}

TEST_F(HdfsJobFilesTest, SmallContentsAreAttributesOfAnEmptyFile) {
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{8 << 10}, size_t{(8 << 10) + 1}, size_t{16} * (8 << 10)}) {
    const std::string name = absl::StrCat("journal/", size);
    ASSERT_EQ(files_.Create(name, Bytes(size)), absl::OkStatus()) << size;
    EXPECT_THAT(FileAt(name).bytes, IsEmpty()) << size;
    EXPECT_THAT(FileAt(name).attributes, SizeIs(std::max<size_t>(1, (size + 8191) / 8192))) << size;
    EXPECT_EQ(files_.Read(name).value(), Bytes(size)) << size;
  }
  EXPECT_THAT(Aside(), IsEmpty());
}

TEST_F(HdfsJobFilesTest, LargeContentsAreTheFiles) {
  const std::string contents = Bytes((size_t{16} * (8 << 10)) + 1);
  ASSERT_EQ(files_.Create("events/1", contents), absl::OkStatus());
  EXPECT_EQ(FileAt("events/1").bytes, contents);
  EXPECT_THAT(FileAt("events/1").attributes, IsEmpty());
  EXPECT_EQ(files_.Read("events/1").value(), contents);
  EXPECT_THAT(Aside(), IsEmpty());
}

// How a NameNode of Hadoop 3 refuses them, and one of Hadoop 2.
TEST_F(HdfsJobFilesTest, GoesOnWithFilesWhereAttributesAreRefused) {
  for (const char* const exception : {"UnsupportedOperationException", "IOException"}) {
    HdfsJobFiles files = Open();
    const std::string folder = exception;
    ASSERT_EQ(files.Create(folder + "/attribute", "first"), absl::OkStatus());
    name_node_.Refuse("SETXATTR", exception);
    const int before = name_node_.asked("SETXATTR");
    ASSERT_EQ(files.Create(folder + "/file", "second"), absl::OkStatus());
    ASSERT_EQ(files.Replace(folder + "/replaced", "third"), absl::OkStatus());
    // It is not asked again and again.
    EXPECT_EQ(name_node_.asked("SETXATTR"), before + 1);
    EXPECT_THAT(FileAt(folder + "/attribute").bytes, IsEmpty());
    EXPECT_EQ(FileAt(folder + "/file").bytes, "second");
    // Both kinds are read, by whoever it is.
    HdfsJobFiles reader = Open();
    EXPECT_EQ(reader.Read(folder + "/attribute").value(), "first");
    EXPECT_EQ(reader.Read(folder + "/file").value(), "second");
    name_node_.Refuse("GETXATTRS", exception);
    EXPECT_EQ(reader.Read(folder + "/replaced").value(), "third");
    EXPECT_THAT(Aside(), IsEmpty());
    name_node_.RefuseNothing();
  }
}

// An attribute that cannot be read now does not make its file an empty one.
TEST_F(HdfsJobFilesTest, AFileIsReadWholeOrNotAtAll) {
  ASSERT_EQ(files_.Create("journal/1", "first"), absl::OkStatus());
  const std::pair<const char*, absl::StatusCode> cases[] = {
      {"SafeModeException", absl::StatusCode::kUnavailable},
      {"StandbyException", absl::StatusCode::kUnavailable},
      {"InvalidToken", absl::StatusCode::kUnauthenticated},
      {"AccessControlException", absl::StatusCode::kPermissionDenied}};
  for (const auto& [exception, code] : cases) {
    name_node_.Refuse("GETXATTRS", exception);
    EXPECT_EQ(files_.Read("journal/1").status().code(), code) << exception;
  }
  name_node_.RefuseNothing();
  EXPECT_EQ(files_.Read("journal/1").value(), "first");
}

TEST_F(HdfsJobFilesTest, WhatIsNotThereIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(files_.Read("am.address").status()));
  EXPECT_TRUE(absl::IsNotFound(files_.Describe("am.address").status()));
  EXPECT_THAT(files_.List("events").value(), IsEmpty());
  EXPECT_EQ(files_.Remove("events"), absl::OkStatus());
}

TEST_F(HdfsJobFilesTest, CreateReplacesNothing) {
  const os::TemporaryFolder folder;
  os::Put(folder / "archive", "second");
  ASSERT_EQ(files_.Create("journal/1", "first"), absl::OkStatus());
  EXPECT_TRUE(absl::IsAlreadyExists(files_.Create("journal/1", "second")));
  EXPECT_TRUE(absl::IsAlreadyExists(files_.CreateFrom("journal/1", folder / "archive")));
  EXPECT_EQ(files_.Read("journal/1").value(), "first");
  EXPECT_THAT(Aside(), IsEmpty());
}

TEST_F(HdfsJobFilesTest, ReplaceGoesFromEachKindToTheOther) {
  const std::string large = Bytes(1 << 20);
  for (const std::string& contents : {std::string("first"), large, std::string("last")}) {
    ASSERT_EQ(files_.Replace("am.address", contents), absl::OkStatus());
    EXPECT_EQ(files_.Read("am.address").value(), contents);
  }
  EXPECT_THAT(Aside(), IsEmpty());
}

TEST_F(HdfsJobFilesTest, AFileOfThisMachineIsCopied) {
  const os::TemporaryFolder folder;
  const std::string contents = Bytes(3 << 20);
  os::Put(folder / "archive", contents);
  ASSERT_EQ(files_.CreateFrom("staged/archive", folder / "archive"), absl::OkStatus());
  EXPECT_EQ(FileAt("staged/archive").bytes, contents);
  const auto described = files_.Describe("staged/archive");
  ASSERT_TRUE(described.ok()) << described.status();
  EXPECT_EQ(described->bytes, contents.size());
  EXPECT_EQ(described->modified_millis, FileAt("staged/archive").modified_millis);
  const absl::Status missing = files_.CreateFrom("staged/other", folder / "nobody");
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_THAT(std::string(missing.message()), HasSubstr(folder / "nobody"));
}

// HDFS has what was written so far.
TEST_F(HdfsJobFilesTest, NothingIsLeftOfWhatFails) {
  const os::TemporaryFolder folder;
  os::Put(folder / "archive", "contents");
  name_node_.Refuse("write", "DSQuotaExceededException");
  EXPECT_TRUE(absl::IsResourceExhausted(files_.CreateFrom("staged/a", folder / "archive")));
  EXPECT_TRUE(absl::IsResourceExhausted(files_.Create("events/1", Bytes(1 << 20))));
  EXPECT_TRUE(absl::IsResourceExhausted(files_.Replace("events/1", Bytes(1 << 20))));
  name_node_.RefuseNothing();
  name_node_.Refuse("RENAME", "AccessControlException");
  EXPECT_TRUE(absl::IsPermissionDenied(files_.CreateFrom("staged/a", folder / "archive")));
  EXPECT_TRUE(absl::IsPermissionDenied(files_.Create("events/1", "small")));
  EXPECT_TRUE(absl::IsPermissionDenied(files_.Replace("events/1", "small")));
  EXPECT_THAT(Aside(), IsEmpty());
}

TEST_F(HdfsJobFilesTest, ListsByNameWithoutWhatIsAside) {
  for (const char* const name : {"events/2", "events/10", "events/.tony-12", "events/1"}) {
    ASSERT_EQ(files_.Create(name, name), absl::OkStatus());
  }
  EXPECT_THAT(files_.List("events").value(), ElementsAre("1", "10", "2"));
  // Events are read in the order of their numbers.
  EXPECT_EQ(ReadArchivedEvents(files_).value(), "events/1events/2events/10");
  EXPECT_EQ(ReadArchivedEvents(files_, "nobody").value(), "");
  ASSERT_EQ(files_.Remove("events"), absl::OkStatus());
  EXPECT_THAT(files_.List("events").value(), IsEmpty());
}

}  // namespace
}  // namespace tony::storage
