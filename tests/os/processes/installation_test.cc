// Build folders, bundles, installed trees and packages, each made of empty files.
#include "os/processes/installation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "os/processes/own_program.h"
#include "tests/os/temporary_folder.h"

namespace tony::os {
namespace {

using testing::HasSubstr;

class InstallationTest : public testing::Test {
 protected:
  /// Makes an empty program; returns its path.
  std::string Add(const std::string& name) {
    const std::filesystem::path path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    Put(path, "");
    EXPECT_EQ(::chmod(path.c_str(), 0755), 0);
    return path;
  }

  TemporaryFolder root_;
};

TEST_F(InstallationTest, BuildFolderHasAllProgramsInOneFolder) {
  Add("build/bin/tony-am");
  const Installation found = InstallationOf(Add("build/bin/tony"));
  EXPECT_EQ(found.daemon("tony-am"), root_ / "build/bin/tony-am");
  EXPECT_EQ(found.python, root_ / "build/python");
  EXPECT_EQ(found.runtime, root_ / "build/runtime/tony-runtime.tar.gz");
}

TEST_F(InstallationTest, BundlesExecutorFindsItsPackage) {
  const Installation found = InstallationOf(Add("tony-runtime/bin/tony-executor"));
  EXPECT_EQ(found.daemons, root_ / "tony-runtime/bin");
  EXPECT_EQ(found.python, root_ / "tony-runtime/python");
}

TEST_F(InstallationTest, InstalledClientsAndDaemonsAgree) {
  const std::string daemon = Add("a place/libexec/tony/tony-am");
  for (const std::string& program : {Add("a place/bin/tony"), daemon}) {
    const Installation found = InstallationOf(program);
    EXPECT_EQ(found.daemon("tony-am"), daemon) << program;
    EXPECT_EQ(found.python, root_ / "a place/lib/tony/python") << program;
    EXPECT_EQ(found.runtime, root_ / "a place/lib/tony/tony-runtime.tar.gz") << program;
  }
}

TEST_F(InstallationTest, ABuildFolderThatIsAPrefixTooUsesItsOwnPrograms) {
  Add("build/bin/tony-am");
  Add("build/libexec/tony/tony-am");
  EXPECT_EQ(InstallationOf(Add("build/bin/tony")).daemons, root_ / "build/bin");
}

TEST_F(InstallationTest, CopiedProgramsFindEachOtherInAnyFolder) {
  Add("libexec/tony/tony-am");
  EXPECT_EQ(InstallationOf(Add("my programs/tony")).daemons, root_ / "my programs");
}

TEST(FindDaemonTest, NamesWhatIsMissingAndTheRemedy) {
  const absl::StatusOr<std::string> found = FindDaemon("tony-nothing");
  EXPECT_TRUE(absl::IsNotFound(found.status()));
  EXPECT_THAT(std::string(found.status().message()),
              HasSubstr("there is no program " + ProgramBeside("tony-nothing").value() +
                        ", which is a part of tony; install tony as a whole"));
}

}  // namespace
}  // namespace tony::os
