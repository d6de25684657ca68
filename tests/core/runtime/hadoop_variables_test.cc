// Tests the variables that are added to a task's environment for HDFS, and which of the user's own
// stay.
#include "core/runtime/hadoop_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::core {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const HadoopInstallation kInstallation = {.home = "/opt/hadoop",
                                          .configuration = "/opt/hadoop/etc/hadoop",
                                          .java_home = "/opt/java",
                                          .jvm_folder = "/opt/java/lib/server",
                                          .libhdfs_folder = "/opt/hadoop/lib/native",
                                          .class_path = "/a.jar:/b.jar"};

TEST(HadoopVariablesTest, TellAllThatLibhdfsNeeds) {
  EXPECT_THAT(HadoopVariables({}, kInstallation),
              UnorderedElementsAre(
                  Pair("CLASSPATH", "/a.jar:/b.jar"), Pair("HADOOP_HDFS_HOME", "/opt/hadoop"),
                  Pair("HADOOP_CONF_DIR", "/opt/hadoop/etc/hadoop"), Pair("JAVA_HOME", "/opt/java"),
                  Pair("ARROW_LIBHDFS_DIR", "/opt/hadoop/lib/native"),
                  Pair("LD_LIBRARY_PATH", "/opt/java/lib/server")));
}

TEST(HadoopVariablesTest, LeaveWhatIsThere) {
  const Environment own = {
      {"CLASSPATH", "mine.jar"},          {"HADOOP_HDFS_HOME", "/mine"},
      {"HADOOP_CONF_DIR", "/mine/conf"},  {"JAVA_HOME", "/mine/java"},
      {"ARROW_LIBHDFS_DIR", "/mine/lib"}, {"LD_LIBRARY_PATH", "/x:/opt/java/lib/server"}};
  EXPECT_THAT(HadoopVariables(own, kInstallation), IsEmpty());
}

TEST(HadoopVariablesTest, TakeAnEmptyOneForNone) {
  EXPECT_THAT(HadoopVariables({{"CLASSPATH", ""}}, kInstallation),
              Contains(Pair("CLASSPATH", "/a.jar:/b.jar")));
}

TEST(HadoopVariablesTest, AppendToTheLibraryPath) {
  EXPECT_THAT(HadoopVariables({{"LD_LIBRARY_PATH", "/x::/y"}}, kInstallation),
              Contains(Pair("LD_LIBRARY_PATH", "/x:/y:/opt/java/lib/server")));
}

TEST(HadoopVariablesTest, PutTheJobsOwnLibraryIntoTheLibraryPathToo) {
  HadoopInstallation installation = kInstallation;
  installation.libhdfs_of_job = true;
  installation.libhdfs_folder = "/container";
  const Environment variables = HadoopVariables({}, installation);
  EXPECT_THAT(variables, Contains(Pair("LD_LIBRARY_PATH", "/opt/java/lib/server:/container")));
  EXPECT_THAT(variables, Contains(Pair("ARROW_LIBHDFS_DIR", "/container")));
}

TEST(HadoopVariablesTest, AreNoneWhereNothingWasFound) {
  EXPECT_THAT(HadoopVariables({}, {}), IsEmpty());
  EXPECT_THAT(HadoopVariables({{"LD_LIBRARY_PATH", "/x"}}, {}),
              Not(Contains(Key("LD_LIBRARY_PATH"))));
}

TEST(HadoopVariablesTest, MakeAContainersProgramTheJobsOwners) {
  EXPECT_THAT(HadoopVariables({{"CONTAINER_ID", "container_1"}, {"USER", "bob"}}, {}),
              UnorderedElementsAre(Pair("HADOOP_USER_NAME", "bob")));
  EXPECT_THAT(HadoopVariables({{"USER", "bob"}}, {}), IsEmpty());
  EXPECT_THAT(
      HadoopVariables(
          {{"CONTAINER_ID", "container_1"}, {"USER", "bob"}, {"HADOOP_USER_NAME", "alice"}}, {}),
      IsEmpty());
}

TEST(HadoopVariablesTest, KnowTheSignsOfHadoop) {
  EXPECT_FALSE(IsHadoopConfigured({}));
  EXPECT_FALSE(IsHadoopConfigured({{"PATH", "/bin"}, {"HADOOP_CONF_DIR", ""}}));
  for (const std::string name : {"HADOOP_CONF_DIR", "HADOOP_HDFS_HOME", "HADOOP_HOME",
                                 "HADOOP_COMMON_HOME", "HADOOP_TOKEN_FILE_LOCATION"}) {
    EXPECT_TRUE(IsHadoopConfigured({{name, "/x"}})) << name;
  }
}

TEST(HadoopVariablesTest, AreSkippedAsTonyDoes) {
  EXPECT_FALSE(SkipsHadoop({{"SKIP_HADOOP", "true"}}));
  for (const std::string value : {"true", "false", ""}) {
    EXPECT_TRUE(SkipsHadoop({{"SKIP_HADOOP_PATH", value}})) << value;
  }
}

}  // namespace
}  // namespace tony::core
