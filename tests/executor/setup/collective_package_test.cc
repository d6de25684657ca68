// Where the package is looked for, and what is said where it is not.
#include "executor/setup/collective_package.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

using testing::HasSubstr;

/// A folder with programs, and what may lie beside it.
class CollectivePackage : public testing::Test {
 protected:
  // Returns the program's path.
  std::string Build(const std::string& name) {
    std::filesystem::create_directories(root_ / (name + "/python/tony/collective"));
    return root_ / (name + "/bin/tony-executor");
  }
  void AddLibrary(const std::string& name) {
    os::Put(root_ / (name + "/python/tony/collective/libtony_collective.so"), "");
  }

  os::TemporaryFolder root_;
};

TEST_F(CollectivePackage, LiesBesideThePrograms) {
  const std::string program = Build("build");
  AddLibrary("build");
  EXPECT_EQ(FindCollectivePackage(program).value(), root_ / "build/python");
}

TEST_F(CollectivePackage, IsNoneWithoutItsLibrary) {
  const absl::StatusOr<std::string> found = FindCollectivePackage(Build("build"));
  EXPECT_TRUE(absl::IsNotFound(found.status()));
  EXPECT_THAT(std::string(found.status().message()),
              HasSubstr("there is no " + (root_ / "build/python/tony/collective/libtony")));
}

TEST_F(CollectivePackage, CannotLieWherePythonDividesThePath) {
  const std::string program = Build("my:build");
  AddLibrary("my:build");
  const absl::StatusOr<std::string> found = FindCollectivePackage(program);
  EXPECT_TRUE(absl::IsFailedPrecondition(found.status()));
  EXPECT_THAT(std::string(found.status().message()), HasSubstr("my:build/python"));
}

}  // namespace
}  // namespace tony::executor
