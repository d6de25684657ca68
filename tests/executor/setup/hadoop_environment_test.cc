// The search for Hadoop on nodes that have it, have it broken, or have none.
#include "executor/setup/hadoop_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

using os::Contents;
using os::Put;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class HadoopEnvironmentTest : public ::testing::Test {
 protected:
  HadoopEnvironmentTest() {
    Put(folder_ / "hadoop/share/hadoop/common/common.jar", "");
    Put(folder_ / "java/lib/server/libjvm.so", "");
    std::filesystem::create_directories(working_);
    environment_ = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                    {"HADOOP_HDFS_HOME", home_},
                    {"JAVA_HOME", folder_ / "java"}};
    Install("echo \"$HADOOP_CONF_DIR:$HADOOP_HDFS_HOME/share/hadoop/common/*\"");
  }

  // `hadoop`, which counts its calls.
  void Install(const std::string& body) {
    Put(home_ + "/bin/hadoop", absl::StrCat("#!/bin/sh\necho x >>", folder_ / "calls", "\n", body));
    std::filesystem::permissions(home_ + "/bin/hadoop", std::filesystem::perms::owner_all);
  }
  int Calls() const {
    if (!os::Exists(folder_ / "calls")) return 0;
    const std::vector<std::string> lines =
        absl::StrSplit(Contents(folder_ / "calls"), '\n', absl::SkipEmpty());
    return static_cast<int>(lines.size());
  }
  HadoopEnvironment Find(Duration limit = seconds(20)) const {
    return FindHadoop(environment_, folder_ / "cache", working_, limit);
  }

  os::TemporaryFolder folder_;
  const std::string home_ = folder_ / "hadoop";
  const std::string working_ = folder_ / "container";
  const std::string jar_ = folder_ / "hadoop/share/hadoop/common/common.jar";
  core::Environment environment_;
};

TEST_F(HadoopEnvironmentTest, TellsWhatLibhdfsNeeds) {
  Put(home_ + "/lib/native/libhdfs.so", "");
  environment_["HADOOP_CONF_DIR"] = "/conf";
  const HadoopEnvironment found = Find();
  EXPECT_THAT(found.variables,
              UnorderedElementsAre(Pair("CLASSPATH", "/conf:" + jar_),
                                   Pair("ARROW_LIBHDFS_DIR", home_ + "/lib/native"),
                                   Pair("LD_LIBRARY_PATH", folder_ / "java/lib/server")));
  EXPECT_THAT(found.notes, IsEmpty());
}

TEST_F(HadoopEnvironmentTest, FindsTheHomesOfCommandsInPath) {
  std::filesystem::create_directories(home_ + "/libexec");
  Put(home_ + "/etc/hadoop/core-site.xml", "");
  Put(folder_ / "java/bin/java", "");
  std::filesystem::permissions(folder_ / "java/bin/java", std::filesystem::perms::owner_all);
  std::filesystem::create_directories(folder_ / "links");
  std::filesystem::create_symlink(home_ + "/bin/hadoop", folder_ / "links/hadoop");
  std::filesystem::create_symlink(folder_ / "java/bin/java", folder_ / "links/java");
  environment_ = {{"PATH", absl::StrCat(folder_ / "links", ":/usr/bin:/bin")},
                  {"HADOOP_TOKEN_FILE_LOCATION", "/tokens"}};
  Install("echo '" + jar_ + "'");
  const HadoopEnvironment found = Find();
  const std::string real = std::filesystem::canonical(home_).string();
  EXPECT_THAT(found.variables, Contains(Pair("HADOOP_HDFS_HOME", real)));
  EXPECT_THAT(found.variables, Contains(Pair("HADOOP_CONF_DIR", real + "/etc/hadoop")));
  EXPECT_THAT(found.variables, Contains(Pair("CLASSPATH", jar_)));
  EXPECT_THAT(found.variables,
              Contains(Pair("JAVA_HOME", std::filesystem::canonical(folder_ / "java").string())));
  EXPECT_THAT(found.notes, IsEmpty());
}

TEST_F(HadoopEnvironmentTest, PrefersTheJobsOwnLibrary) {
  Put(home_ + "/lib/native/libhdfs.so", "");
  Put(working_ + "/libhdfs.so", "");
  const HadoopEnvironment found = Find();
  EXPECT_THAT(found.variables, Contains(Pair("ARROW_LIBHDFS_DIR", working_)));
  EXPECT_THAT(found.variables, Contains(Pair("LD_LIBRARY_PATH", HasSubstr(":" + working_))));
}

TEST_F(HadoopEnvironmentTest, AsksOnceForAllContainersOfTheNode) {
  Install("sleep 0.2; echo '" + jar_ + "'");
  std::vector<HadoopEnvironment> found(6);
  {
    std::vector<std::jthread> containers;
    for (HadoopEnvironment& one : found) containers.emplace_back([&] { one = Find(); });
  }
  for (const HadoopEnvironment& one : found) {
    EXPECT_THAT(one.variables, Contains(Pair("CLASSPATH", jar_)));
  }
  EXPECT_EQ(Calls(), 1);
  environment_["HADOOP_TOKEN_FILE_LOCATION"] = "/of/another/container";
  EXPECT_THAT(Find().variables, Contains(Pair("CLASSPATH", jar_)));
  EXPECT_EQ(Calls(), 1);
}

TEST_F(HadoopEnvironmentTest, AsksAgainWhenItsConfigurationIsAnother) {
  EXPECT_THAT(Find().variables, Contains(Pair("CLASSPATH", jar_)));
  environment_["HADOOP_CONF_DIR"] = "/mine";
  EXPECT_THAT(Find().variables, Contains(Pair("CLASSPATH", "/mine:" + jar_)));
  EXPECT_EQ(Calls(), 2);
}

TEST_F(HadoopEnvironmentTest, WaitsOnceForACommandThatHangs) {
  Install("exec sleep 1000");
  for (int container = 0; container < 3; ++container) {
    const HadoopEnvironment found = Find(seconds(3));  // enough for it to count its call
    EXPECT_THAT(found.variables, Not(Contains(Key("CLASSPATH"))));
    EXPECT_THAT(found.variables, Contains(Key("LD_LIBRARY_PATH")));
    EXPECT_THAT(found.notes, ElementsAre(HasSubstr("bin/hadoop' did not end within 3000 ms")));
  }
  EXPECT_EQ(Calls(), 1);
}

TEST_F(HadoopEnvironmentTest, SaysWhyThereIsNoClassPath) {
  Install("echo 'ERROR: cannot execute' >&2; exit 1");
  EXPECT_THAT(Find().notes, ElementsAre(HasSubstr("exited with 1: 'ERROR: cannot execute'")));
  std::filesystem::remove(home_ + "/bin/hadoop");
  environment_["PATH"] = folder_ / "empty";
  EXPECT_THAT(Find().notes, ElementsAre(HasSubstr("there is no command hadoop in PATH")));
  environment_.erase("JAVA_HOME");
  EXPECT_THAT(Find().notes, ElementsAre(HasSubstr("neither JAVA_HOME nor PATH has a Java"),
                                        HasSubstr("there is no command hadoop")));
  environment_["JAVA_HOME"] = "/no/java";
  EXPECT_THAT(Find().notes, Contains(HasSubstr("no libjvm.so in /no/java")));
}

TEST_F(HadoopEnvironmentTest, LeavesAClassPathThatIsThere) {
  environment_["CLASSPATH"] = "mine.jar";
  EXPECT_THAT(Find().variables, Not(Contains(Key("CLASSPATH"))));
  EXPECT_EQ(Calls(), 0);
}

TEST_F(HadoopEnvironmentTest, DoesNothingWithoutHadoopOrWhenToldSo) {
  environment_["SKIP_HADOOP_PATH"] = "true";
  EXPECT_THAT(Find().variables, IsEmpty());
  environment_ = {{"PATH", home_ + "/bin:/usr/bin:/bin"}, {"JAVA_HOME", folder_ / "java"}};
  EXPECT_THAT(Find().variables, IsEmpty());
  EXPECT_THAT(Find().notes, IsEmpty());
  EXPECT_EQ(Calls(), 0);
}

}  // namespace
}  // namespace tony::executor
