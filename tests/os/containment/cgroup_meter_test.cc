// Made-up groups with real processes in them, and the group of a real container.
#include "os/containment/cgroup_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "os/containment/keeper.h"
#include "tests/os/process_support.h"
#include "tests/os/temporary_folder.h"

namespace tony::os {
namespace {

std::string Pressure(int64_t micros) {
  return absl::StrCat("some avg10=0.00 avg60=0.00 avg300=0.00 total=", micros,
                      "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n");
}

/// Two processes, neither of which started the other. Not thread safe.
class CgroupMeterTest : public testing::Test {
 protected:
  ~CgroupMeterTest() override {
    for (const pid_t pid : {owner_, stranger_}) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }

  /// The file of a group, below the mounts.
  void Write(const std::string& file, const std::string& text) {
    Put(root_ / ("sys/fs/cgroup/" + file), text);
  }
  void WriteMembership(const std::string& lines) {
    Put(root_ / absl::StrCat("proc/", owner_, "/cgroup"), lines);
  }
  CgroupUsage Read() {
    CgroupMeter meter(root_.path());
    meter.Choose(owner_, owner_);
    return meter.Read();
  }

  const TemporaryFolder root_;
  const pid_t owner_ = ForkChild([] { ::pause(); });
  const pid_t stranger_ = ForkChild([] { ::pause(); });
};

TEST_F(CgroupMeterTest, ReadsTheGroupsOfTheContainerAlone) {
  WriteMembership("0::/slice/job/tony-1\n");
  Write("cgroup.procs", absl::StrCat(stranger_, "\n"));
  Write("slice/cgroup.procs", "");
  Write("slice/memory.current", "1000000\n");
  Write("slice/other/cgroup.procs", absl::StrCat(stranger_, "\n"));
  // The limit on processors is set here, so throttling counts here, and memory, too.
  Write("slice/job/cgroup.procs", "");
  Write("slice/job/memory.current", "4096\n");
  Write("slice/job/memory.peak", "8192\n");
  Write("slice/job/cpu.stat",
        "usage_usec 9\nnr_periods 100\nnr_throttled 7\nthrottled_usec 1500000\n");
  Write("slice/job/cpu.pressure", Pressure(9'000'000));
  Write("slice/job/tony-1/cgroup.procs", absl::StrCat(owner_, "\n"));
  Write("slice/job/tony-1/cpu.stat",
        "usage_usec 9\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
  Write("slice/job/tony-1/cpu.pressure", Pressure(2'500'000));
  Write("slice/job/tony-1/memory.pressure", Pressure(0));
  Write("slice/job/tony-1/io.pressure", Pressure(250'000));
  EXPECT_EQ(Read(), (CgroupUsage{.memory_bytes = 4096,
                                 .max_memory_bytes = 8192,
                                 .periods = 100,
                                 .throttled_periods = 7,
                                 .throttled_seconds = 1.5,
                                 .cpu_wait_seconds = 2.5,
                                 .memory_wait_seconds = 0,
                                 .io_wait_seconds = 0.25}));
  // Once a stranger is in the group above, its numbers are no longer the container's.
  Write("slice/job/cgroup.procs", absl::StrCat(stranger_, "\n"));
  const CgroupUsage shared = Read();
  EXPECT_EQ(shared.memory_bytes, -1);
  EXPECT_EQ(shared.periods, 0);
  EXPECT_EQ(shared.cpu_wait_seconds, 2.5);
}

TEST_F(CgroupMeterTest, ReadsVersionOne) {
  WriteMembership("5:memory:/c/1\n4:cpu,cpuacct:/c/1\n3:freezer:/c/1\n");
  const std::string all = absl::StrCat(owner_, "\n");
  for (const char* hierarchy : {"memory", "cpu"}) {
    Write(absl::StrCat(hierarchy, "/cgroup.procs"), absl::StrCat(stranger_, "\n"));
    Write(absl::StrCat(hierarchy, "/c/cgroup.procs"), "");
    Write(absl::StrCat(hierarchy, "/c/1/cgroup.procs"), all);
  }
  Write("memory/c/1/memory.usage_in_bytes", "77\n");
  Write("memory/c/1/memory.max_usage_in_bytes", "88\n");
  Write("cpu/c/1/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 2500000000\n");
  EXPECT_EQ(Read(), (CgroupUsage{.memory_bytes = 77,
                                 .max_memory_bytes = 88,
                                 .periods = 10,
                                 .throttled_periods = 4,
                                 .throttled_seconds = 2.5}));
}

TEST_F(CgroupMeterTest, ASharedGroupTellsNothing) {
  WriteMembership("0::/\n");
  Write("memory.current", "1\n");
  Write("cgroup.procs", absl::StrCat(owner_, "\n", stranger_, "\n"));
  EXPECT_EQ(Read(), CgroupUsage());
  // A process of another process namespace has no number here.
  Write("cgroup.procs", absl::StrCat(owner_, "\n0\n"));
  EXPECT_EQ(Read(), CgroupUsage());
  // A group that the process is not in is another's, which an empty one may be.
  Write("cgroup.procs", "");
  EXPECT_EQ(Read(), CgroupUsage());
  Write("cgroup.procs", absl::StrCat(owner_, "\n"));
  EXPECT_EQ(Read().memory_bytes, 1);
}

TEST_F(CgroupMeterTest, AShellThatStartedTheContainerIsPartOfIt) {
  WriteMembership("0::/\n");
  Write("memory.current", "1\n");
  Write("cgroup.procs", absl::StrCat(owner_, "\n", ::getpid(), "\n"));
  EXPECT_EQ(Read().memory_bytes, -1);
  char name[16] = "";
  ::prctl(PR_GET_NAME, name);
  ::prctl(PR_SET_NAME, "bash");
  EXPECT_EQ(Read().memory_bytes, 1);
  ::prctl(PR_SET_NAME, name);
}

TEST_F(CgroupMeterTest, WithoutFilesNothingIsKnown) {
  EXPECT_EQ(Read(), CgroupUsage());
  WriteMembership("0::/gone\nnonsense\n");
  EXPECT_EQ(Read(), CgroupUsage());
  Write("cgroup.procs", absl::StrCat(owner_, "\n"));
  Write("cpu.pressure", "some total\n");
  Write("memory.current", "max\n");
  Write("cpu.stat", "nr_periods many\n");
  EXPECT_EQ(Read(), CgroupUsage());
}

TEST(CgroupMeterOfAContainerTest, KnowsWhatTheKernelCounts) {
  auto keeper = Keeper::Start(absl::StrCat("cgroup_meter_test_", ::getpid()),
                              {.way = ContainmentWay::kCgroup, .memory_bytes = 256 << 20});
  ASSERT_TRUE(keeper.ok());
  if ((*keeper)->containment_name() != "cgroup") GTEST_SKIP() << "no control group can be made";
  LinePipe output;
  ASSERT_TRUE(
      (*keeper)
          ->Spawn(BashRequest(
              "x=$(head -c 30000000 /dev/zero | tr '\\0' y); echo ready; kill -STOP $$", output))
          .ok());
  ASSERT_EQ(output.ReadLine(), "ready");
  CgroupMeter meter;
  const std::vector<pid_t> processes = (*keeper)->Processes();
  ASSERT_FALSE(processes.empty());
  meter.Choose(processes.front(), ::getpid());
  const CgroupUsage usage = meter.Read();
  if ((*keeper)->limits_memory()) {
    EXPECT_GT(usage.memory_bytes, 30'000'000);
    EXPECT_LT(usage.memory_bytes, 256 << 20);
    EXPECT_GE(usage.max_memory_bytes, usage.memory_bytes);
  }
  // The kernel may be built without PSI.
  if (Exists("/proc/pressure/cpu") && !OwnCgroupFolders().unified.empty()) {
    EXPECT_GE(usage.cpu_wait_seconds, 0);
    EXPECT_GE(usage.memory_wait_seconds, 0);
    EXPECT_GE(usage.io_wait_seconds, 0);
  }
}

}  // namespace
}  // namespace tony::os
