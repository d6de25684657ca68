// Tests the description of a job for its container.
#include "backend/yarn/yarn_job.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "tests/hadoop/fakes/fake_name_node.h"
#include "tests/os/temporary_folder.h"

namespace tony::backend {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

v1::YarnJob SampleJob() {
  v1::YarnJob job;
  job.set_job_id("application_1_0001");
  job.set_user("ann");
  job.set_folder("/user/ann/.tony/jobs/application_1_0001");
  job.mutable_hdfs()->set_authority("prod");
  job.mutable_hdfs()->set_highly_available(true);
  for (const int port : {8020, 8021}) {
    auto* const server = job.mutable_hdfs()->add_name_nodes();
    server->set_host("nn");
    server->set_port(port);
  }
  job.mutable_hdfs()->add_web()->set_host("nn");
  auto* const archive = job.add_resources();
  archive->set_name(".tony/runtime");
  archive->set_scheme("hdfs");
  archive->set_host("prod");
  archive->set_path("/cache/x");
  archive->set_bytes(7);
  archive->set_modified_millis(1700000000123);
  archive->set_unpacked(true);
  archive->set_kept(true);
  job.add_resources()->set_name(".tony/archives/a");
  job.set_view_acl("bob");
  return job;
}

hadoop::TokenStore StoreWith(const std::string& json) {
  hadoop::TokenStore store;
  store.secrets = {{"other", "text"}, {kYarnJobSecret, json}};
  return store;
}

TEST(YarnJob, SaysWhatProtectionIsRequired) {
  using hadoop::Protection;
  EXPECT_EQ(RequiredProtectionOf(SampleJob()), hadoop::RequiredProtection{});
  for (const Protection minimum :
       {Protection::kAuthentication, Protection::kIntegrity, Protection::kPrivacy}) {
    v1::YarnJob job = SampleJob();
    SetProtection({minimum, "hadoop.rpc.protection = x (F:1)"}, job);
    std::string json;
    ASSERT_TRUE(google::protobuf::util::MessageToJsonString(job, &json).ok());
    const auto read = ReadYarnJob(StoreWith(json));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(RequiredProtectionOf(*read),
              (hadoop::RequiredProtection{minimum, "hadoop.rpc.protection = x (F:1)"}));
  }
}

TEST(YarnJob, IsReadFromATokenFile) {
  const v1::YarnJob job = SampleJob();
  std::string json;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(job, &json).ok());
  const auto read = ReadYarnJob(StoreWith(json));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SerializeAsString(), job.SerializeAsString());
}

TEST(YarnJob, WhatIsNoJobIsNamed) {
  const absl::Status missing = ReadYarnJob({}).status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_THAT(Message(missing), HasSubstr("tony-job"));
  for (const char* const json : {"", "{", "[]", R"({"user":1,"nobody":2})"}) {
    const absl::Status status = ReadYarnJob(StoreWith(json)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << json << status;
    EXPECT_THAT(Message(status), HasSubstr("tony-job")) << json;
  }
}

TEST(YarnJob, ASecretIsFoundByItsName) {
  EXPECT_EQ(FindSecret(StoreWith("{}"), "other").value(), "text");
  const absl::Status status = FindSecret(StoreWith("hidden"), "nobody").status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(Message(status), AllOf(HasSubstr("nobody"), testing::Not(HasSubstr("hidden"))));
}

TEST(YarnJob, ExecutorsAreStartedFromTheRuntime) {
  const LaunchTemplate launch = ExecutorTemplate(SampleJob());
  EXPECT_THAT(launch.command,
              ElementsAre("./.tony/runtime/tony-runtime/bin/start", "tony-executor"));
  EXPECT_EQ(launch.view_acl, "bob");
  ASSERT_EQ(launch.resources.size(), 2);
  EXPECT_EQ(launch.resources[0].type, LocalResource::Type::kArchive);
  EXPECT_EQ(launch.resources[0].visibility, LocalResource::Visibility::kPrivate);
  EXPECT_EQ(launch.resources[0].modified_millis, 1700000000123);
  EXPECT_EQ(launch.resources[1].type, LocalResource::Type::kFile);
  EXPECT_EQ(launch.resources[1].visibility, LocalResource::Visibility::kApplication);
}

TEST(YarnJob, ItsFolderIsWhereItSays) {
  v1::YarnJob job = SampleJob();
  EXPECT_EQ(UrlOfFolder(job), "hdfs://prod/user/ann/.tony/jobs/application_1_0001");
  const hadoop::NameService service = NameServiceOf(job.hdfs());
  EXPECT_TRUE(service.highly_available);
  EXPECT_EQ(service.rpc.size(), 2);
  EXPECT_EQ(hadoop::ToString(service.rpc[1]), "nn:8021");

  const os::TemporaryFolder folder;
  job.clear_hdfs();
  job.set_folder(folder / "job");
  EXPECT_EQ(UrlOfFolder(job), folder / "job");
  auto files = OpenJobFolder(job, {});
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ((*files)->Create("a", "contents"), absl::OkStatus());
  EXPECT_EQ(os::Contents(folder / "job/a"), "contents");
}

TEST(YarnJob, ItsFolderInHdfsIsOpenedAsTheUser) {
  hadoop::FakeNameNode name_node;
  v1::YarnJob job = SampleJob();
  job.mutable_hdfs()->mutable_web(0)->set_host(name_node.endpoint().host);
  job.mutable_hdfs()->mutable_web(0)->set_port(name_node.endpoint().port);
  const auto files = OpenJobFolder(job, {});
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ((*files)->Create("am.address", "node:1"), absl::OkStatus());
  EXPECT_TRUE(name_node.files().contains(job.folder() + "/am.address"));
}

}  // namespace
}  // namespace tony::backend
