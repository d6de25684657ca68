// The class path by commands `hadoop` that are as bad as they get.
#include "hadoop/config/class_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/os/process_support.h"
#include "tests/os/temporary_folder.h"

namespace tony::hadoop {
namespace {

using os::Put;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ClassPathTest : public ::testing::Test {
 protected:
  // The path of a script that may be executed.
  std::string Script(const std::string& body, const std::string& name = "bin/hadoop") {
    const std::string path = folder_ / name;
    Put(path, "#!/bin/sh\n" + body);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  absl::StatusOr<std::string> Read(const std::string& body, Duration limit = seconds(20)) {
    return ReadClassPath(Script(body), environment_, limit);
  }

  os::TemporaryFolder folder_;
  std::map<std::string, std::string> environment_ = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}};
};

TEST_F(ClassPathTest, ExpandsWildcardsInTheOrderOfNames) {
  Put(folder_ / "lib/b.jar", "");
  Put(folder_ / "lib/a.JAR", "");
  Put(folder_ / "lib/notes.txt", "");
  Put(folder_ / "lib/deeper/c.jar", "");
  const std::string lib = folder_ / "lib";
  EXPECT_EQ(ExpandClassPath(absl::StrCat("/conf:", lib, "/*:", lib, "/deeper/c.jar::/none/*:/x")),
            absl::StrCat("/conf:", lib, "/a.JAR:", lib, "/b.jar:", lib, "/deeper/c.jar:/x"));
  EXPECT_EQ(ExpandClassPath(""), "");
}

TEST_F(ClassPathTest, IsWhatTheCommandPrints) {
  Put(folder_ / "lib/a.jar", "");
  environment_["LIB"] = folder_ / "lib";
  const auto class_path = Read(R"(
    [ "$*" = classpath ] || exit 3
    echo 'WARNING: something is deprecated' >&2
    echo "Welcome to this cluster."
    echo "/conf:$LIB/*")");
  ASSERT_TRUE(class_path.ok()) << class_path.status();
  EXPECT_EQ(*class_path, absl::StrCat("/conf:", folder_ / "lib/a.jar"));
}

TEST_F(ClassPathTest, KeepsWildcardsWhereNoVariableCouldHoldTheResult) {
  const std::string long_name(200, 'x');
  for (int i = 0; i < 600; ++i) Put(absl::StrCat(folder_ / "lib/", long_name, i, ".jar"), "");
  const std::string printed = absl::StrCat("/conf:", folder_ / "lib", "/*");
  const auto class_path = Read("echo '" + printed + "'");
  ASSERT_TRUE(class_path.ok()) << class_path.status();
  EXPECT_EQ(*class_path, printed);
}

TEST_F(ClassPathTest, RepeatsWhatAFailedCommandSaid) {
  const auto class_path = Read(
      "echo 'reading'; echo 'ERROR: JAVA_HOME is not set and could not be found.' >&2; exit 1");
  EXPECT_EQ(class_path.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(class_path.status().message()),
              HasSubstr("bin/hadoop classpath' exited with 1: 'ERROR: JAVA_HOME is not set"));
}

TEST_F(ClassPathTest, SaysWhichSignalEndedIt) {
  EXPECT_THAT(std::string(Read("kill -9 $$").status().message()), HasSubstr("ended by signal 9"));
}

TEST_F(ClassPathTest, BelievesNoRubbish) {
  for (const std::string body : {"true", "echo", "echo 'Usage: hadoop [OPTIONS] SUBCOMMAND'",
                                 "echo '/none/a.jar:/none/*'", "printf '\\001\\377\\n'"}) {
    const auto class_path = Read(body);
    EXPECT_EQ(class_path.status().code(), absl::StatusCode::kFailedPrecondition) << body;
    EXPECT_THAT(std::string(class_path.status().message()),
                HasSubstr("printed no class path with a jar that is there"));
  }
  EXPECT_THAT(std::string(Read("yes rubbish | head -c 3000000").status().message()),
              SizeIs(::testing::Lt(600)));
}

TEST_F(ClassPathTest, EndsACommandThatHangsWithItsChildren) {
  const auto class_path =
      Read("sleep 1000 & echo $! > " + folder_ / "child" + "; wait", seconds(3));
  EXPECT_EQ(class_path.status().code(), absl::StatusCode::kDeadlineExceeded);
  int child = 0;
  ASSERT_TRUE(absl::SimpleAtoi(os::Contents(folder_ / "child"), &child));
  EXPECT_TRUE(os::WaitGone(child));
}

TEST_F(ClassPathTest, LooksForTheCommandInHomesFirst) {
  EXPECT_EQ(FindHadoopCommand({}), "");
  const std::string in_path = Script("", "path/hadoop");
  const std::string in_common = Script("", "common/bin/hadoop");
  const std::string in_hdfs = Script("", "hdfs/bin/hadoop");
  Put(folder_ / "plain/bin/hadoop", "not executable");
  environment_["PATH"] = absl::StrCat("/none:", folder_ / "path");
  EXPECT_EQ(FindHadoopCommand(environment_), in_path);
  environment_["HADOOP_COMMON_HOME"] = folder_ / "common";
  environment_["HADOOP_HOME"] = folder_ / "plain";
  EXPECT_EQ(FindHadoopCommand(environment_), in_common);
  environment_["HADOOP_HDFS_HOME"] = folder_ / "hdfs";
  EXPECT_EQ(FindHadoopCommand(environment_), in_hdfs);
}

}  // namespace
}  // namespace tony::hadoop
