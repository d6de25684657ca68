// Tests reading a cluster's configuration folders.
#include "backend/yarn/yarn_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/backend/yarn/yarn_configuration.h"

namespace tony::backend {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// Where the files are, as a URL.
std::string StagingUrl(const YarnCluster& cluster) {
  if (!cluster.hdfs()) return "file://" + cluster.staging();
  return absl::StrCat("hdfs://", cluster.hdfs()->authority, cluster.staging());
}

class YarnClusterTest : public testing::Test {
 protected:
  void SetService(const std::string& name, const std::vector<hadoop::Endpoint>& name_nodes) {
    configuration_.properties["fs.defaultFS"] = "hdfs://" + name;
    configuration_.properties["dfs.nameservices"] = name;
    std::string ids;
    for (size_t i = 0; i < name_nodes.size(); ++i) {
      absl::StrAppend(&ids, i == 0 ? "" : ",", "nn", i);
      for (const char* const key : {"rpc", "http"}) {
        configuration_.properties[absl::StrCat("dfs.namenode.", key, "-address.", name, ".nn", i)] =
            hadoop::ToString(name_nodes[i]);
      }
    }
    configuration_.properties["dfs.ha.namenodes." + name] = ids;
  }
  YarnCluster Found() {
    auto cluster = configuration_.Find();
    EXPECT_TRUE(cluster.ok()) << cluster.status();
    return *std::move(cluster);
  }
  absl::Status Refused(absl::StatusCode code) {
    const absl::Status status = configuration_.Find().status();
    EXPECT_EQ(status.code(), code) << status;
    return status;
  }

  hadoop::FakeNameNode name_node_;
  YarnConfiguration configuration_;
};

TEST_F(YarnClusterTest, FilesLieBelowTheUsersFolderInHdfs) {
  configuration_.SetHdfs(name_node_);
  const YarnCluster cluster = Found();
  EXPECT_EQ(cluster.staging(), "/user/ann/.tony");
  EXPECT_EQ(StagingUrl(cluster),
            absl::StrCat(configuration_.properties["fs.defaultFS"], "/user/ann/.tony"));
  // The name is believed, so it is not the NameNode that knows it.
  EXPECT_EQ(cluster.user(), "bob");
  EXPECT_EQ(hadoop::ToString(cluster.schedulers().front()), "rm:8030");
  EXPECT_EQ(hadoop::ToString(cluster.application_client().servers.front()), "rm:8032");
  EXPECT_EQ(cluster.application_client().identity.user, "bob");
  EXPECT_FALSE(cluster.GetHdfsToken().value().has_value());

  const auto files = cluster.OpenStaging();
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ((*files)->Create("cache/a", "contents"), absl::OkStatus());
  EXPECT_TRUE(name_node_.files().contains("/user/ann/.tony/cache/a"));
  const auto resource = cluster.ResourceAt(**files, "cache/a");
  ASSERT_TRUE(resource.ok()) << resource.status();
  EXPECT_EQ(resource->scheme, "hdfs");
  EXPECT_EQ(resource->host, "127.0.0.1");
  EXPECT_EQ(resource->port, name_node_.endpoint().port);
  EXPECT_EQ(resource->path, "/user/ann/.tony/cache/a");
  EXPECT_EQ(resource->modified_millis,
            name_node_.files().at("/user/ann/.tony/cache/a").modified_millis);
  EXPECT_TRUE(absl::IsNotFound(cluster.ResourceAt(**files, "cache/b").status()));
}

TEST_F(YarnClusterTest, APairOfNameNodesHasOneName) {
  hadoop::FakeNameNode standby;
  for (const char* const operation :
       {"GETHOMEDIRECTORY", "MKDIRS", "CREATE", "SETXATTR", "RENAME", "GETFILESTATUS"}) {
    standby.Refuse(operation, "StandbyException");
  }
  SetService("prod", {standby.endpoint(), name_node_.endpoint()});
  const YarnCluster cluster = Found();
  EXPECT_EQ(StagingUrl(cluster), "hdfs://prod/user/ann/.tony");
  const auto files = cluster.OpenStaging();
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ((*files)->Create("a", ""), absl::OkStatus());
  const auto resource = cluster.ResourceAt(**files, "a");
  ASSERT_TRUE(resource.ok()) << resource.status();
  // Without a port: Hadoop would look for a host otherwise.
  EXPECT_EQ(resource->host, "prod");
  EXPECT_EQ(resource->port, 0);
}

TEST_F(YarnClusterTest, APairOfResourceManagersIsFound) {
  configuration_.properties = {{"yarn.resourcemanager.ha.enabled", "true"},
                               {"yarn.resourcemanager.ha.rm-ids", "a,b"},
                               {"yarn.resourcemanager.hostname.a", "rm-a"},
                               {"yarn.resourcemanager.hostname.b", "rm-b"}};
  std::vector<std::string> schedulers;
  const YarnCluster cluster = Found();
  for (const auto& server : cluster.schedulers()) schedulers.push_back(hadoop::ToString(server));
  EXPECT_THAT(schedulers, ElementsAre("rm-a:8030", "rm-b:8030"));
}

TEST_F(YarnClusterTest, AStagingFolderIsAPathInTheDefaultFileSystemOrAUri) {
  configuration_.SetHdfs(name_node_);
  const std::string url = configuration_.properties["fs.defaultFS"];
  configuration_.options.staging_dir = "/apps/tony";
  EXPECT_EQ(StagingUrl(Found()), url + "/apps/tony/bob");
  configuration_.options.staging_dir = "/apps/tony/";
  EXPECT_EQ(StagingUrl(Found()), url + "/apps/tony/bob");
  // Nothing has to be asked for it.
  EXPECT_EQ(name_node_.asked("GETHOMEDIRECTORY"), 0);
  configuration_.options.staging_dir = "file:///shared/tony";
  EXPECT_EQ(StagingUrl(Found()), "file:///shared/tony/bob");
  configuration_.options.staging_dir = "file:/shared/tony";
  EXPECT_EQ(StagingUrl(Found()), "file:///shared/tony/bob");
  // In one that is not the default.
  configuration_.properties["fs.defaultFS"] = "s3a://bucket";
  configuration_.options.staging_dir = url + "/apps/tony";
  EXPECT_EQ(StagingUrl(Found()), url + "/apps/tony/bob");
  configuration_.options.staging_dir = url;
  EXPECT_EQ(StagingUrl(Found()), url + "/user/ann/.tony");
}

TEST_F(YarnClusterTest, WhatOthersMayWriteIsNotTrusted) {
  configuration_.SetHdfs(name_node_);
  configuration_.options.staging_dir = "/shared";
  name_node_.Put("/shared/bob", {.folder = true, .owner = "mallory"});
  const YarnCluster cluster = Found();
  absl::Status refused = cluster.OpenStaging().status();
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_THAT(Message(refused), AllOf(HasSubstr("/shared/bob"), HasSubstr("mallory")));
  name_node_.Put("/shared/bob", {.folder = true, .owner = "bob", .permission = "777"});
  refused = cluster.OpenStaging().status();
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_THAT(Message(refused), HasSubstr("777"));
  name_node_.Put("/shared/bob", {.folder = true, .owner = "bob", .permission = "755"});
  EXPECT_EQ(cluster.OpenStaging().status(), absl::OkStatus());

  const os::TemporaryFolder folder;
  configuration_.options.staging_dir = "file:" + (folder / "staging");
  const YarnCluster shared = Found();
  EXPECT_EQ(shared.OpenStaging().status(), absl::OkStatus());
  std::filesystem::permissions(folder / "staging" + "/bob", std::filesystem::perms::all);
  EXPECT_TRUE(absl::IsPermissionDenied(shared.OpenStaging().status()));
}

TEST_F(YarnClusterTest, ADiskThatAllNodesHaveIsEnough) {
  // Hadoop's defaults, where nothing is configured.
  YarnCluster cluster = Found();
  EXPECT_FALSE(cluster.hdfs().has_value());
  EXPECT_EQ(cluster.staging(), "/home/bob/.tony/yarn");
  const os::TemporaryFolder folder;
  configuration_.options.staging_dir = folder / "staging";
  cluster = Found();
  const auto files = cluster.OpenStaging();
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ((*files)->Create("cache/a", "12345"), absl::OkStatus());
  const auto resource = cluster.ResourceAt(**files, "cache/a");
  ASSERT_TRUE(resource.ok()) << resource.status();
  EXPECT_EQ(resource->scheme, "file");
  EXPECT_EQ(resource->host, "");
  EXPECT_EQ(resource->path, folder / "staging/bob/cache/a");
  EXPECT_EQ(resource->bytes, 5);
  EXPECT_FALSE(cluster.GetHdfsToken().value().has_value());
}

TEST_F(YarnClusterTest, OtherFileSystemsAreRefusedWithWhatToDo) {
  for (const char* const url : {"s3a://bucket", "viewfs://cluster", "abfs://c@a/x"}) {
    configuration_.properties["fs.defaultFS"] = url;
    EXPECT_THAT(Message(Refused(absl::StatusCode::kFailedPrecondition)),
                AllOf(HasSubstr("core-site.xml:2: fs.defaultFS"), HasSubstr(url),
                      HasSubstr("tony.yarn.staging-dir")));
  }
  configuration_.properties.erase("fs.defaultFS");
  // Then it is not the file's to be put right.
  configuration_.options.staging_dir = "s3a://bucket/tony";
  EXPECT_THAT(Message(Refused(absl::StatusCode::kFailedPrecondition)),
              AllOf(HasSubstr("s3a://bucket/tony"), HasSubstr("tony.yarn.staging-dir")));
}

TEST_F(YarnClusterTest, NodesWithoutDockerAreKnownWhereTheConfigurationSaysSo) {
  configuration_.SetHdfs(name_node_);
  const auto docker = [this] { return Message(Found().docker()); };
  EXPECT_EQ(docker(), "") << "it says nothing";
  configuration_.properties["yarn.nodemanager.container-executor.class"] =
      "x.y.DefaultContainerExecutor";
  EXPECT_THAT(docker(), AllOf(HasSubstr("yarn.nodemanager.container-executor.class: "
                                        "x.y.DefaultContainerExecutor runs no Docker containers"),
                              HasSubstr("or set tony.docker.enabled to false")));
  configuration_.properties["yarn.nodemanager.container-executor.class"] =
      "x.y.LinuxContainerExecutor";
  EXPECT_EQ(docker(), "");
  configuration_.properties["yarn.nodemanager.runtime.linux.allowed-runtimes"] = "default,runc";
  EXPECT_THAT(docker(), HasSubstr("allowed-runtimes: default,runc runs no Docker containers"));
  configuration_.properties["yarn.nodemanager.runtime.linux.allowed-runtimes"] = "default, docker";
  EXPECT_EQ(docker(), "");
}

TEST_F(YarnClusterTest, WhatIsMissingIsNamed) {
  configuration_.properties.clear();
  EXPECT_THAT(Message(Refused(absl::StatusCode::kFailedPrecondition)),
              HasSubstr("yarn.resourcemanager.hostname"));
  configuration_.properties = {{"yarn.resourcemanager.address", "rm:port"},
                               {"yarn.resourcemanager.hostname", "rm"}};
  EXPECT_THAT(Message(Refused(absl::StatusCode::kInvalidArgument)),
              AllOf(HasSubstr("core-site.xml:2"), HasSubstr("yarn.resourcemanager.address")));
  configuration_.options.conf_dir = "/nowhere";
  EXPECT_THAT(Message(YarnCluster::Find(configuration_.options, nullptr).status()),
              HasSubstr("/nowhere"));
}

TEST_F(YarnClusterTest, NoNameNodeIsUnavailable) {
  configuration_.SetHdfs(name_node_);
  name_node_.Refuse("GETHOMEDIRECTORY", "StandbyException");
  EXPECT_THAT(Message(Refused(absl::StatusCode::kUnavailable)), HasSubstr("GETHOMEDIRECTORY"));
}

TEST_F(YarnClusterTest, TokensOfAFileComeBeforeTheTicket) {
  configuration_.properties["yarn.resourcemanager.principal"] = "rm/_HOST@REALM";
  configuration_.SetHdfs(name_node_);
  const os::TemporaryFolder folder;
  configuration_.options.token_file = folder / "tokens";
  const auto write = [&](const std::vector<hadoop::Token>& tokens) {
    hadoop::TokenStore store;
    for (const hadoop::Token& token : tokens) store.tokens.emplace_back(token.service, token);
    ASSERT_TRUE(hadoop::WriteTokenFile(configuration_.options.token_file, store,
                                       hadoop::TokenFormat::kProtobuf)
                    .ok());
  };
  // Without Kerberos nobody looks.
  EXPECT_FALSE(Found().application_client().identity.token.has_value());
  configuration_.properties["hadoop.security.authentication"] = "kerberos";
  EXPECT_THAT(Message(Refused(absl::StatusCode::kNotFound)),
              AllOf(HasSubstr("HADOOP_TOKEN_FILE_LOCATION: "), HasSubstr("/tokens")));
  const hadoop::Token manager{"i", "p", hadoop::kResourceManagerDelegationToken, "10.0.0.1:8032"};
  const hadoop::Token hdfs{"h", "p", hadoop::kHdfsDelegationToken, "10.0.0.2:8020"};
  write({manager, hdfs});
  const YarnCluster cluster = Found();
  EXPECT_EQ(cluster.application_client().identity.token, manager);
  EXPECT_EQ(cluster.user(), "ann");
  // HDFS would give no other one.
  EXPECT_EQ(**cluster.GetHdfsToken(), hdfs);
  EXPECT_EQ(name_node_.asked("GETDELEGATIONTOKEN"), 0);
  write({hdfs});
  EXPECT_FALSE(Found().application_client().identity.token.has_value());
}

TEST_F(YarnClusterTest, GivenValuesOverrideTheFiles) {
  configuration_.options.given = {{"yarn.resourcemanager.address", "rm:port", "step:3"}};
  EXPECT_THAT(Message(Refused(absl::StatusCode::kInvalidArgument)),
              HasSubstr("step:3: yarn.resourcemanager.address"));
}

TEST_F(YarnClusterTest, WithKerberosTheNameNodeSaysWhoTheUserIs) {
  configuration_.properties["hadoop.security.authentication"] = "kerberos";
  EXPECT_THAT(Message(Refused(absl::StatusCode::kFailedPrecondition)),
              HasSubstr("yarn.resourcemanager.principal"));
  configuration_.properties["yarn.resourcemanager.principal"] = "rm/_HOST@REALM";
  // Without an HDFS nobody is asked.
  const YarnCluster alone = Found();
  EXPECT_EQ(alone.user(), "bob");
  EXPECT_TRUE(alone.application_client().identity.kerberos);
  EXPECT_EQ(alone.application_client().identity.server_principal, "rm/_HOST@REALM");
  configuration_.SetHdfs(name_node_);
  configuration_.options.staging_dir = "/apps/tony";
  EXPECT_EQ(Found().user(), "ann");
  EXPECT_EQ(name_node_.asked("GETHOMEDIRECTORY"), 1);
  configuration_.properties["hadoop.security.authentication"] = "magic";
  EXPECT_THAT(Message(Refused(absl::StatusCode::kInvalidArgument)), HasSubstr("magic"));
}

}  // namespace
}  // namespace tony::backend
