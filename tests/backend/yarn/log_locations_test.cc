// Tests which folders of logs a configuration means.
#include "backend/yarn/log_locations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/yarn/uri.h"
#include "tests/backend/yarn/yarn_configuration.h"

namespace tony::backend {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kApplication[] = "application_1700000000000_120042";

class LogPlacesTest : public testing::Test {
 protected:
  absl::StatusOr<std::vector<LogLocation>> Places() {
    const auto cluster = configuration_.Find();
    EXPECT_TRUE(cluster.ok()) << cluster.status();
    return cluster->log_locations();
  }
  /// All folders that are looked into, in that order.
  std::vector<std::string> Folders() {
    std::vector<std::string> all;
    const auto locations = Places();
    EXPECT_TRUE(locations.ok()) << locations.status();
    for (const LogLocation& location : *locations) {
      EXPECT_FALSE(location.hdfs);
      const std::vector<std::string> folders = *LogFolders(location, "bob", kApplication);
      all.insert(all.end(), folders.begin(), folders.end());
    }
    return all;
  }

  YarnConfiguration configuration_;
};

TEST_F(LogPlacesTest, YarnsDefaults) {
  EXPECT_THAT(Folders(),
              ElementsAre("/tmp/logs/bob/bucket-logs-tfile/0042/application_1700000000000_120042",
                          "/tmp/logs/bob/logs-tfile/application_1700000000000_120042",
                          "/tmp/logs/bob/bucket-logs/0042/application_1700000000000_120042",
                          "/tmp/logs/bob/logs/application_1700000000000_120042"));
}

TEST_F(LogPlacesTest, WhatIsConfiguredForAllForms) {
  configuration_.properties["yarn.nodemanager.remote-app-log-dir"] = "file:///app-logs/";
  configuration_.properties["yarn.nodemanager.remote-app-log-dir-suffix"] = "kept";
  EXPECT_THAT(Folders(),
              ElementsAre("/app-logs/bob/bucket-kept-tfile/0042/application_1700000000000_120042",
                          "/app-logs/bob/kept-tfile/application_1700000000000_120042",
                          "/app-logs/bob/bucket-kept/0042/application_1700000000000_120042",
                          "/app-logs/bob/kept/application_1700000000000_120042"));
}

TEST_F(LogPlacesTest, WhatIsConfiguredForOneForm) {
  configuration_.properties["yarn.log-aggregation.file-formats"] = "IFile, TFile";
  configuration_.properties["yarn.log-aggregation.IFile.remote-app-log-dir"] = "/indexed";
  configuration_.properties["yarn.log-aggregation.TFile.remote-app-log-dir-suffix"] = "old";
  const std::vector<std::string> folders = Folders();
  ASSERT_EQ(folders.size(), 6U);
  EXPECT_EQ(folders[0], "/indexed/bob/bucket-logs-ifile/0042/application_1700000000000_120042");
  EXPECT_EQ(folders[2], "/tmp/logs/bob/bucket-old/0042/application_1700000000000_120042");
  EXPECT_EQ(folders[5], "/tmp/logs/bob/logs/application_1700000000000_120042");
}

TEST_F(LogPlacesTest, InHdfs) {
  hadoop::FakeNameNode name_node;
  configuration_.SetHdfs(name_node);
  const auto locations = Places();
  ASSERT_TRUE(locations.ok()) << locations.status();
  ASSERT_TRUE(locations->front().hdfs);
  EXPECT_EQ(locations->front().hdfs->authority, hadoop::ToString(name_node.endpoint()));
}

TEST_F(LogPlacesTest, OnePathInTwoFileSystemsIsTwoPlaces) {
  hadoop::FakeNameNode name_node;
  configuration_.SetHdfs(name_node);
  const std::string prefix = "yarn.log-aggregation.";
  configuration_.properties[prefix + "file-formats"] = "IFile,TFile";
  for (const char* const format : {"IFile", "TFile"}) {
    configuration_.properties[prefix + format + ".remote-app-log-dir-suffix"] = "kept";
  }
  configuration_.properties[prefix + "IFile.remote-app-log-dir"] = "file:///app-logs";
  configuration_.properties[prefix + "TFile.remote-app-log-dir"] = "/app-logs";
  const auto locations = Places();
  ASSERT_TRUE(locations.ok()) << locations.status();
  std::vector<std::string> found;
  for (const LogLocation& location : *locations) {
    if (location.root == "/app-logs" && location.suffix == "kept") {
      found.push_back(location.hdfs ? "hdfs" : "disk");
    }
  }
  EXPECT_THAT(found, ElementsAre("disk", "hdfs"));
}

// Only who wants logs is told.
TEST_F(LogPlacesTest, OtherFileSystemsAreNamed) {
  configuration_.properties["yarn.nodemanager.remote-app-log-dir"] = "s3a://bucket/logs";
  const absl::Status status = Places().status();
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("s3a://bucket/logs"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("yarn logs -applicationId"));
}

TEST(UriTest, PathsOfUris) {
  EXPECT_EQ(PathOfUri("hdfs://name:8020/a/b/"), "/a/b");
  EXPECT_EQ(PathOfUri("hdfs://name"), "");
  EXPECT_EQ(PathOfUri("file:/a"), "/a");
  EXPECT_EQ(PathOfUri("file:///a"), "/a");
  EXPECT_EQ(PathOfUri("/a//"), "/a");
  EXPECT_EQ(PathOfUri("/"), "");
  EXPECT_TRUE(IsUri("file:/a"));
  EXPECT_FALSE(IsUri("/a:b"));
}

}  // namespace
}  // namespace tony::backend
