// Programs that need RDMA, on machines that have it or do not.
#include "executor/setup/rdma_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

using testing::HasSubstr;

class RdmaSetupTest : public testing::Test {
 protected:
  void AddAdapter(const std::string& device, const std::string& state, bool with_file) {
    const std::string folder = root_ / ("sys/class/infiniband/" + device + "/ports/1");
    std::filesystem::create_directories(folder);
    os::Put(folder + "/state", state);
    os::Put(folder + "/link_layer", "InfiniBand");
    os::Put(folder + "/rate", "200 Gb/sec (4X HDR)");
    const std::string verbs = root_ / ("sys/class/infiniband_verbs/uverbs_" + device);
    std::filesystem::create_directories(verbs);
    os::Put(verbs + "/ibdev", device);
    std::filesystem::create_directories(root_ / "dev/infiniband");
    if (with_file) os::Put(root_ / ("dev/infiniband/uverbs_" + device), "");
  }

  std::string Refusal(rlim_t lockable = RLIM_INFINITY) {
    const absl::StatusOr<RdmaSetup> setup = SetUpRdma({}, root_.path(), lockable);
    EXPECT_EQ(setup.status().code(), absl::StatusCode::kFailedPrecondition);
    return std::string(setup.status().message());
  }

  os::TemporaryFolder root_;
};

TEST_F(RdmaSetupTest, AMachineWithoutAnAdapter) {
  EXPECT_THAT(Refusal(), HasSubstr("this machine has no adapter for RDMA: ask for machines"));
}

TEST_F(RdmaSetupTest, AnAdapterWithoutALink) {
  AddAdapter("mlx5_0", "1: DOWN", true);
  EXPECT_THAT(Refusal(), HasSubstr("no active adapter for RDMA (mlx5_0:1 is DOWN)"));
}

TEST_F(RdmaSetupTest, AnAdapterThatTheContainerDoesNotHave) {
  AddAdapter("mlx5_0", "4: ACTIVE", false);
  EXPECT_THAT(Refusal(), HasSubstr("mlx5_0:1 cannot be used: "));
  EXPECT_THAT(Refusal(), HasSubstr("dev/infiniband/uverbs_mlx5_0: No such file or directory"));
}

TEST_F(RdmaSetupTest, TooLittleMemoryMayBeLocked) {
  AddAdapter("mlx5_0", "4: ACTIVE", true);
  EXPECT_THAT(Refusal(64 << 10), HasSubstr("may lock only 64 KiB of memory here: raise"));
}

TEST_F(RdmaSetupTest, ActivePortsAreUsedAndTheJobsOwnVariablesStay) {
  AddAdapter("mlx5_1", "4: ACTIVE", true);
  AddAdapter("mlx5_0", "4: ACTIVE", true);
  AddAdapter("mlx5_2", "1: DOWN", true);
  const auto setup = SetUpRdma({{"UCX_NET_DEVICES", "mine"}}, root_.path(), rlim_t{1} << 30);
  ASSERT_TRUE(setup.ok()) << setup.status();
  EXPECT_EQ(setup->variables, (core::Environment{{"NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1"}}));
  EXPECT_EQ(setup->sentence,
            "RDMA by mlx5_0:1 (InfiniBand, 200 Gb/sec (4X HDR)), mlx5_1:1 (InfiniBand, 200 Gb/sec "
            "(4X HDR)); 1024 MiB of memory may be locked");
}

}  // namespace
}  // namespace tony::executor
