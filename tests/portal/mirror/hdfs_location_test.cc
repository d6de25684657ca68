// History locations in an HDFS: what may be one, and jobs of it in a portal's list.
#include "portal/mirror/hdfs_location.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/fake_clock.h"
#include "os/files/files.h"
#include "rpc/convert/event_json.h"
#include "storage/job_folder.h"
#include "storage/job_liveness.h"
#include "tests/client/sample_events.h"
#include "tests/hadoop/fakes/fake_name_node.h"
#include "tests/os/temporary_folder.h"

namespace tony::portal {
namespace {

using ::testing::HasSubstr;

constexpr char kJob[] = "application_1700000000000_0001";

TEST(HdfsLocation, IsParsed) {
  using Location = HdfsLocation;
  EXPECT_EQ(ParseHdfsLocation("hdfs://nn:8020/history/").value(),
            (Location{false, "nn:8020", "/history"}));
  EXPECT_EQ(ParseHdfsLocation("hdfs:///user/ann/.tony").value(),
            (Location{false, "", "/user/ann/.tony"}));
  EXPECT_EQ(ParseHdfsLocation("webhdfs://[::1]:9870/a b").value(),
            (Location{true, "[::1]:9870", "/a b"}));
  EXPECT_EQ(ParseHdfsLocation("webhdfs://nn/a//").value().ToString(), "webhdfs://nn/a");
  for (const char* const wrong :
       {"hdfs://nn:8020", "hdfs://nn:8020/", "hdfs://", "webhdfs:///a", "s3://bucket/a", "/a",
        "hdfs://ann:secret@nn/a", "hdfs://nn/a/../b", "hdfs://nn//a", "hdfs://nn/a\nb",
        "hdfs://nn/\xff"}) {
    const absl::Status refused = ParseHdfsLocation(wrong).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << wrong;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("hdfs://HOST:PORT/PATH"));
  }
}

class HdfsLocationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string lines;
    for (const core::JobEvent& event : client::FailedJob().events()) {
      absl::StrAppend(&lines, rpc::EventToJsonLine(event), "\n");
    }
    lines_ = lines;
    Put("events/00000001.jsonl", lines);
    Put("job.xml", "<configuration/>");
  }
  /// Of the user ann.
  void Put(const std::string& name, const std::string& contents) {
    name_node_.Put(absl::StrCat("/history/jobs/", kJob, "/", name),
                   {.bytes = contents, .owner = "ann"});
  }
  std::string Web() { return absl::StrCat("webhdfs://", ToString(name_node_.endpoint())); }
  absl::StatusOr<JobMirror::Cluster> Open(const std::string& url) {
    return OpenHdfsLocation(
        ParseHdfsLocation(url).value(), hadoop_, [](const std::string&) { return std::nullopt; },
        stop_.get_token());
  }

  hadoop::FakeNameNode name_node_;
  backend::YarnClusterOptions hadoop_{.user = "ann", .timeout = std::chrono::seconds(20)};
  std::stop_source stop_;
  std::string lines_;
};

TEST_F(HdfsLocationTest, JobsAreCopiedWithoutHadoopsConfiguration) {
  os::TemporaryFolder here;
  const FakeClock clock;
  auto mirror = JobMirror::Open(here.path(), Open(Web() + "/history").value(), clock).value();
  ASSERT_EQ(mirror->Round(stop_.get_token()).value(), 0);
  const storage::JobFolder copy(absl::StrCat(storage::JobsFolder(here.path()), "/", kJob));
  EXPECT_EQ(os::ReadFile(copy.events()).value_or(""), lines_);
  EXPECT_FALSE(storage::IsAlive(copy)) << "its client's certificate is gone";
  // Nobody has written there.
  EXPECT_EQ(name_node_.asked("MKDIRS") + name_node_.asked("CREATE") + name_node_.asked("DELETE"),
            0);
}

TEST_F(HdfsLocationTest, AJobWithItsClientsCertificateMayGoOn) {
  const JobMirror::Cluster opened = Open(Web() + "/history").value();
  EXPECT_TRUE(opened.is_over(kJob).value());
  Put("client.pem", "-");
  EXPECT_FALSE(opened.is_over(kJob).value());
}

TEST_F(HdfsLocationTest, TheFolderIsTheUsersAndNobodyElseWritesThere) {
  const absl::Status missing = Open(Web() + "/nothing").status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_THAT(std::string(missing.message()), HasSubstr("/nothing"));
  name_node_.Put("/file", {.owner = "ann"});
  EXPECT_TRUE(absl::IsFailedPrecondition(Open(Web() + "/file").status()));
  name_node_.Put("/open", {.folder = true, .owner = "ann", .permission = "775"});
  EXPECT_TRUE(absl::IsPermissionDenied(Open(Web() + "/open").status()));
  hadoop_.user = "bob";
  const absl::Status foreign = Open(Web() + "/history").status();
  EXPECT_TRUE(absl::IsPermissionDenied(foreign)) << foreign;
  EXPECT_THAT(std::string(foreign.message()), HasSubstr("belongs to ann"));
}

TEST_F(HdfsLocationTest, TheOwnerIsLookedAtBeforeEachListing) {
  os::TemporaryFolder here;
  const FakeClock clock;
  name_node_.Put("/history", {.folder = true, .owner = "ann"});
  auto mirror = JobMirror::Open(here.path(), Open(Web() + "/history").value(), clock).value();
  ASSERT_EQ(mirror->Round(stop_.get_token()).value(), 0);
  const std::string other = absl::StrReplaceAll(kJob, {{"_0001", "_0002"}});
  for (const hadoop::FakeNameNode::File& file :
       {hadoop::FakeNameNode::File{.folder = true, .owner = "mallory"},
        hadoop::FakeNameNode::File{.folder = true, .owner = "ann", .permission = "777"}}) {
    name_node_.Put("/history", file);
    name_node_.Put(absl::StrCat("/history/jobs/", other, "/events/00000001.jsonl"),
                   {.bytes = lines_, .owner = "mallory"});
    const absl::Status refused = mirror->Round(stop_.get_token()).status();
    EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  }
  const std::string jobs = storage::JobsFolder(here.path());
  EXPECT_FALSE(std::filesystem::exists(absl::StrCat(jobs, "/", other)));
  EXPECT_TRUE(std::filesystem::exists(absl::StrCat(jobs, "/", kJob))) << "what was copied stays";
  name_node_.Put("/history", {.folder = true, .owner = "ann"});
  EXPECT_EQ(mirror->Round(stop_.get_token()).value(), 0);
}

TEST_F(HdfsLocationTest, HadoopsConfigurationSaysWhereTheDefaultFileSystemIs) {
  os::TemporaryFolder folder;
  const std::string web = ToString(name_node_.endpoint());
  const auto configure = [&](const std::string& properties) {
    os::Put(folder / "core-site.xml", absl::StrCat("<configuration>", properties,
                                                   "<property><name>dfs.namenode.http-address"
                                                   "</name><value>",
                                                   web, "</value></property></configuration>"));
  };
  hadoop_.conf_dir = folder.path();
  configure("");
  const absl::Status none = Open("hdfs:///history").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(none)) << none;
  EXPECT_THAT(std::string(none.message()), HasSubstr("fs.defaultFS"));
  configure("<property><name>fs.defaultFS</name><value>hdfs://127.0.0.1:8020</value></property>");
  EXPECT_EQ(Open("hdfs:///history").status(), absl::OkStatus());
  EXPECT_EQ(Open("hdfs://127.0.0.1/history").status(), absl::OkStatus());
}

}  // namespace
}  // namespace tony::portal
