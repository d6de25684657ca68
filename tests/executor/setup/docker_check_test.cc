// A container that was to be one of Docker's, and is or is not.
#include "executor/setup/docker_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kWish = {"A=b", "YARN_CONTAINER_RUNTIME_TYPE=docker",
                                        "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE=repo/image:1"};

/// A file system in which this process has ancestors 7 and 3.
class DockerCheck : public testing::Test {
 protected:
  void SetUp() override {
    AddProcess("self", 7, "tony-executor");
    AddProcess("7", 3, "/bin/bash");
    AddProcess("3", 0, "/sbin/init");
  }

  void AddProcess(const std::string& name, int parent, const std::string& command) {
    const std::string folder = root_ / ("proc/" + name);
    std::filesystem::create_directories(folder);
    os::Put(folder + "/stat", "12 (a) (b) S " + std::to_string(parent) + " 1 1 0");
    os::Put(folder + "/cmdline", command);
  }

  os::TemporaryFolder root_;
};

TEST_F(DockerCheck, NobodyWantsOne) {
  EXPECT_TRUE(CheckDocker({"A=b", "YARN_CONTAINER_RUNTIME_TYPE=default"}, root_.path()).ok());
}

TEST_F(DockerCheck, ItIsOne) {
  os::Put(root_ / ".dockerenv", "");
  EXPECT_TRUE(CheckDocker(kWish, root_.path()).ok());
}

TEST_F(DockerCheck, ItIsNone) {
  const absl::Status status = CheckDocker(kWish, root_.path());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("is not the Docker container repo/image:1 that was asked for: the node runs "
                "none (yarn.nodemanager.container-executor.class"));
}

TEST_F(DockerCheck, ItIsThatOfTheNodeManagerItself) {
  os::Put(root_ / ".dockerenv", "");
  std::string command = "java -Xmx1g org.apache.hadoop.yarn.server.nodemanager.NodeManager ";
  std::replace(command.begin(), command.end(), ' ', '\0');
  AddProcess("3", 1, command);
  EXPECT_FALSE(CheckDocker(kWish, root_.path()).ok());
}

}  // namespace
}  // namespace tony::executor
