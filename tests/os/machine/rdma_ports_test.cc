// Adapters as the kernel's files describe them. Source of their form: the Linux kernel's
// Documentation/ABI/stable/sysfs-class-infiniband.
#include "os/machine/rdma_ports.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/os/temporary_folder.h"

namespace tony::os {
namespace {

class RdmaPortsTest : public testing::Test {
 protected:
  void AddPort(const std::string& device, int number, const std::string& state) {
    const std::string folder =
        root_ / ("sys/class/infiniband/" + device + "/ports/" + std::to_string(number));
    std::filesystem::create_directories(folder);
    Put(folder + "/state", state + "\n");
    Put(folder + "/link_layer", "InfiniBand\n");
    Put(folder + "/rate", "100 Gb/sec (4X EDR)\n");
  }

  TemporaryFolder root_;
};

TEST_F(RdmaPortsTest, AMachineWithoutAdapters) { EXPECT_TRUE(FindRdmaPorts(root_.path()).empty()); }

TEST_F(RdmaPortsTest, PortsOfAllAdaptersInOrder) {
  AddPort("mlx5_1", 1, "4: ACTIVE");
  AddPort("mlx5_0", 2, "1: DOWN");
  AddPort("mlx5_0", 1, "4: ACTIVE");
  std::filesystem::create_directories(root_ / "sys/class/infiniband_verbs/uverbs3");
  Put(root_ / "sys/class/infiniband_verbs/uverbs3/ibdev", "mlx5_1\n");
  Put(root_ / "sys/class/infiniband_verbs/abi_version", "6\n");
  const std::vector<RdmaPort> ports = FindRdmaPorts(root_.path());
  ASSERT_EQ(ports.size(), 3u);
  EXPECT_EQ(ports[0].device + std::to_string(ports[0].number), "mlx5_01");
  EXPECT_EQ(ports[1].number, 2);
  EXPECT_FALSE(ports[1].active);
  EXPECT_EQ(ports[1].state, "DOWN");
  EXPECT_TRUE(ports[2].active);
  EXPECT_EQ(ports[2].link_layer, "InfiniBand");
  EXPECT_EQ(ports[2].rate, "100 Gb/sec (4X EDR)");
  EXPECT_EQ(ports[2].verbs_file, root_ / "dev/infiniband/uverbs3");
  EXPECT_EQ(ports[0].verbs_file, "");
}

TEST_F(RdmaPortsTest, FilesThatCannotBeReadMakeAPortThatIsNotActive) {
  std::filesystem::create_directories(root_ / "sys/class/infiniband/rxe0/ports/1");
  const std::vector<RdmaPort> ports = FindRdmaPorts(root_.path());
  ASSERT_EQ(ports.size(), 1u);
  EXPECT_FALSE(ports[0].active);
  EXPECT_EQ(ports[0].state, "");
}

}  // namespace
}  // namespace tony::os
