// Control groups as folders: where they are, and both versions' way to end what is in one. Version
// 2's memory files are played by plain ones.
#include "os/containment/cgroup_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "os/containment/cgroup_memory.h"
#include "tests/os/process_support.h"
#include "tests/os/temporary_folder.h"

namespace tony::os {
namespace {

void WriteFile(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  ASSERT_TRUE((std::ofstream(path) << text).good());
}

TEST(CgroupFoldersTest, FindsBothVersionsSideBySide) {
  const TemporaryFolder root;
  WriteFile(root.path() + "/unified/cgroup.procs", "");
  WriteFile(root.path() + "/unified/a/b/cgroup.procs", "");
  WriteFile(root.path() + "/memory/cgroup.procs", "");
  const CgroupFolders places =
      FindCgroupFolders("4:cpu,memory:/not/visible\n3:freezer:/\n0::/a/b\n", root.path());
  EXPECT_EQ(places.unified, root.path() + "/unified/a/b");
  EXPECT_EQ(places.memory, root.path() + "/memory");
  EXPECT_EQ(places.freezer, "");
  EXPECT_EQ(places.cpu, "");
  WriteFile(root.path() + "/cpu,memory/not/visible/cgroup.procs", "");
  WriteFile(root.path() + "/cpu,memory/cgroup.procs", "");
  EXPECT_EQ(FindCgroupFolders("4:cpu,memory:/not/visible\n", root.path()).cpu,
            root.path() + "/cpu,memory/not/visible");
}

TEST(CgroupFoldersTest, FindsVersionTwoAlone) {
  const TemporaryFolder root;
  WriteFile(root.path() + "/cgroup.procs", "");
  EXPECT_EQ(FindCgroupFolders("0::/\n", root.path()).unified, root.path());
  EXPECT_EQ(FindCgroupFolders("0::/seen/from/outside\n", root.path()).unified, root.path());
  EXPECT_EQ(FindCgroupFolders("nonsense\n::\n", root.path()).unified, "");
}

TEST(CgroupNameTest, IsAFileName) {
  // The number of the process namespace, in which alone the owner's number means something.
  EXPECT_THAT(CgroupNameOf("job_1-c/0 1", 42),
              testing::MatchesRegex("tony-job_1-c_0_1\\.42-[0-9]+"));
}

TEST(CgroupMemoryTest, KnowsVersionTwo) {
  const TemporaryFolder folder;
  for (const char* file : {"memory.max", "memory.oom.group", "memory.swap.max"}) {
    WriteFile(folder.path() + "/" + file, "");
  }
  WriteFile(folder.path() + "/memory.peak", "4096\n");
  WriteFile(folder.path() + "/memory.events", "low 0\nhigh 0\nmax 8\noom 2\noom_kill 3\n");
  const CgroupFolder group(folder.path());
  EXPECT_TRUE(SetCgroupMemoryLimit(group, 1 << 20));
  EXPECT_EQ(group.Read("memory.max"), "1048576");
  EXPECT_EQ(group.Read("memory.oom.group"), "1");
  EXPECT_EQ(group.Read("memory.swap.max"), "0");
  EXPECT_EQ(CgroupMemoryPeak(group), 4096);
  EXPECT_EQ(CgroupMemoryKills(group), 3);
}

TEST(CgroupMemoryTest, AGroupWithoutTheControllerLimitsNothing) {
  const TemporaryFolder folder;
  const CgroupFolder group(folder.path());
  EXPECT_FALSE(SetCgroupMemoryLimit(group, 1 << 20));
  EXPECT_EQ(CgroupMemoryPeak(group), 0);
  EXPECT_EQ(CgroupMemoryKills(group), 0);
}

/// For each kind of hierarchy: a group below the test's own one. Not thread safe.
class CgroupFolderTest : public testing::TestWithParam<std::string CgroupFolders::*> {
 protected:
  void SetUp() override {
    const std::string place = OwnCgroupFolders().*GetParam();
    if (place.empty()) GTEST_SKIP() << "no such hierarchy is mounted here";
    group_ = CgroupFolder(absl::StrCat(place, "/tony-folder_test_", ::getpid()));
    if (const absl::Status created = group_.Create(); !created.ok()) {
      GTEST_SKIP() << created.message();
    }
  }
  void TearDown() override {
    if (!group_.valid()) return;
    group_.Kill();
    EXPECT_TRUE(group_.Remove() || ::access(group_.path().c_str(), F_OK) != 0);
  }

  CgroupFolder group_;
};

TEST_P(CgroupFolderTest, EndsWhatForksInItAndBelow) {
  EXPECT_TRUE(group_.Empty());
  const CgroupFolder below(group_.path() + "/below");
  ASSERT_TRUE(below.Create().ok());
  LinePipe output;
  const pid_t child = ForkChild([&] {
    if (below.Write("cgroup.procs", "0") != 0) ::_exit(1);
    ::dup2(output.write_fd(), STDOUT_FILENO);
    ::execlp("bash", "bash", "-c", "while :; do sleep 0.001 & echo fork; wait; done", nullptr);
  });
  ASSERT_EQ(output.ReadLine(), "fork");
  EXPECT_FALSE(group_.Empty());
  EXPECT_THAT(group_.Members(), testing::Contains(child));
  EXPECT_FALSE(group_.Remove());
  group_.Freeze();
  EXPECT_THAT(group_.Members(), testing::Contains(child));
  while (!group_.Empty()) group_.Kill();
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(group_.Remove());
  EXPECT_TRUE(group_.Remove()) << "what is gone is removed";
}

TEST_P(CgroupFolderTest, OnlyGroupsOfDeadOwnersAreAbandoned) {
  const std::string place = OwnCgroupFolders().*GetParam();
  const pid_t dead = ForkChild([] {});
  ::waitpid(dead, nullptr, 0);
  const CgroupFolder abandoned(place + "/" + CgroupNameOf("abandoned", dead));
  const CgroupFolder owned(place + "/" + CgroupNameOf("owned", ::getpid()));
  // As Create() does, but without a look at it: who else removes what is abandoned may be first.
  ASSERT_EQ(::mkdir(abandoned.path().c_str(), 0755), 0);
  ASSERT_TRUE(owned.Create().ok());
  RemoveAbandonedGroups();
  EXPECT_FALSE(abandoned.Has("cgroup.procs"));
  EXPECT_TRUE(owned.Has("cgroup.procs"));
  EXPECT_TRUE(owned.Remove());
}

INSTANTIATE_TEST_SUITE_P(Hierarchies, CgroupFolderTest,
                         testing::Values(&CgroupFolders::unified, &CgroupFolders::freezer,
                                         &CgroupFolders::memory));

}  // namespace
}  // namespace tony::os
