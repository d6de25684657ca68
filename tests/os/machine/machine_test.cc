// This machine's facts, and the limits of made-up control groups.
#include "os/machine/machine.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "os/machine/cgroup_limits.h"

namespace tony::os {
namespace {

TEST(MachineTest, TellsThisMachine) {
  const auto machine = ReadMachine();
  ASSERT_TRUE(machine.ok()) << machine.status();
  char name[256] = {};
  ASSERT_EQ(::gethostname(name, sizeof(name) - 1), 0);
  EXPECT_EQ(machine->host_name, name);
  EXPECT_EQ(machine->boot_id.size(), 36u);
  EXPECT_GT(machine->cores, 0);
  EXPECT_LE(machine->cores, static_cast<double>(::sysconf(_SC_NPROCESSORS_CONF)));
  EXPECT_GT(machine->memory_bytes, 16 << 20);
  EXPECT_LE(machine->memory_bytes, ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE));
  EXPECT_GE(machine->load_average, 0);
}

TEST(MachineTest, CountsTheCoresOfTheAffinityMask) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  const auto machine = ReadMachine();
  ASSERT_EQ(::sched_setaffinity(0, sizeof(before), &before), 0);
  ASSERT_TRUE(machine.ok());
  EXPECT_LE(machine->cores, 1);
}

class CgroupLimitsTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cgroup_limits_test.XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& file, const std::string& contents) {
    const std::filesystem::path path = root_ + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << contents << "\n";
  }

  std::string root_;
};

TEST_F(CgroupLimitsTest, Version2TakesTheTightestUpTheTree) {
  Write("slice/job/memory.max", "max");
  Write("slice/job/cpu.max", "150000 100000");
  Write("slice/memory.max", "1073741824");
  Write("slice/cpu.max", "max 100000");
  const CgroupLimits limits = ReadCgroupLimits("0::/slice/job\n", root_);
  EXPECT_EQ(limits.memory_bytes, 1073741824);
  EXPECT_DOUBLE_EQ(limits.cores, 1.5);
}

TEST_F(CgroupLimitsTest, Version1HasAFolderPerController) {
  Write("memory/docker/x/memory.limit_in_bytes", "2147483648");
  Write("memory/memory.limit_in_bytes", "9223372036854771712");
  Write("cpu,cpuacct/docker/x/cpu.cfs_quota_us", "50000");
  Write("cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000");
  Write("cpu,cpuacct/cpu.cfs_quota_us", "-1");
  Write("cpu,cpuacct/cpu.cfs_period_us", "100000");
  const CgroupLimits limits = ReadCgroupLimits(
      "12:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n1:name=systemd:/docker/x\n", root_);
  EXPECT_EQ(limits.memory_bytes, 2147483648);
  EXPECT_DOUBLE_EQ(limits.cores, 0.5);
}

TEST_F(CgroupLimitsTest, InAContainerTheMountsRootIsItsOwnGroup) {
  Write("memory.max", "4096000");
  EXPECT_EQ(ReadCgroupLimits("0::/not/mounted/here\n", root_).memory_bytes, 4096000);
  EXPECT_EQ(ReadCgroupLimits("0::/../outside\n", root_).memory_bytes, 4096000);
}

TEST_F(CgroupLimitsTest, NothingReadableLimitsNothing) {
  for (const std::string membership : {"", "0::/\n", "rubbish\n:\n::\n", "3:memory:relative\n"}) {
    const CgroupLimits limits = ReadCgroupLimits(membership, root_);
    EXPECT_TRUE(std::isinf(limits.cores)) << membership;
    EXPECT_EQ(limits.memory_bytes, std::numeric_limits<int64_t>::max()) << membership;
  }
}

}  // namespace
}  // namespace tony::os
