// Tests the features of single containments: a namespace's isolation, a control group's memory
// limit; and the choice among them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "os/containment/cgroup_folder.h"
#include "os/containment/keeper.h"
#include "os/files/proc_file.h"
#include "os/processes/process_tree.h"
#include "tests/os/process_support.h"

namespace tony::os {
namespace {

using testing::HasSubstr;

TEST(NamespaceContainmentTest, KillingEverythingReachesNobodyOutside) {
  const std::string id = absl::StrCat("kill_everything_", ::getpid());
  auto keeper = Keeper::Start(id, {.way = ContainmentWay::kNamespace});
  ASSERT_TRUE(keeper.ok()) << keeper.status();
  LinePipe output;
  char outside[64] = {};
  ASSERT_GT(::readlink("/proc/self/ns/pid", outside, sizeof(outside) - 1), 0);
  // Only where it is certain that the namespace is another one.
  const std::string script =
      absl::StrCat("inside=$(readlink /proc/$$/ns/pid); [ -n \"$inside\" ] && [ \"$inside\" != '",
                   outside, "' ] && [ $$ -lt 50 ] || exit 9; sleep 600 & kill -9 -1; exit 5");
  const absl::Status spawned = (*keeper)->Spawn(BashRequest(script, output));
  if (!spawned.ok()) GTEST_SKIP() << spawned.message();
  ASSERT_TRUE(WaitFor<KeeperStarted>(**keeper).has_value());
  const auto exited = WaitFor<KeeperExited>(**keeper);
  ASSERT_TRUE(exited.has_value());
  EXPECT_EQ(exited->status.code, 5);
  ASSERT_TRUE(WaitFor<KeeperTreeGone>(**keeper).has_value());
  EXPECT_TRUE(IsAlive((*keeper)->pid()));
}

TEST(NamespaceContainmentTest, KillingItsFirstProcessFromOutsideEndsAll) {
  const std::string id = absl::StrCat("init_killed_", ::getpid());
  auto keeper = Keeper::Start(id, {.way = ContainmentWay::kNamespace});
  ASSERT_TRUE(keeper.ok()) << keeper.status();
  LinePipe output;
  const absl::Status spawned =
      (*keeper)->Spawn(BashRequest("trap '' TERM; sleep 600 & echo ready; wait", output));
  if (!spawned.ok()) GTEST_SKIP() << spawned.message();
  ASSERT_TRUE(WaitFor<KeeperStarted>(**keeper).has_value());
  ASSERT_EQ(output.ReadLine(), "ready");
  for (const pid_t pid : Descendants((*keeper)->pid())) {
    if (ReadProcFile(absl::StrCat("/proc/", pid, "/comm")) == "tony-init\n") ::kill(pid, SIGKILL);
  }
  const auto exited = WaitFor<KeeperExited>(**keeper);
  ASSERT_TRUE(exited.has_value());
  EXPECT_EQ(exited->status.signal, SIGKILL);
  EXPECT_TRUE(WaitFor<KeeperTreeGone>(**keeper).has_value());
  ASSERT_TRUE((*keeper)->Spawn(BashRequest("exit 0", output)).ok());
  const auto failed = WaitFor<KeeperSpawnFailed>(**keeper);
  ASSERT_TRUE(failed.has_value());
  EXPECT_FALSE(failed->message.empty());
}

/// A keeper in a group with a limit of memory, where the kernel enforces one. Not thread safe.
class MemoryLimitTest : public testing::Test {
 protected:
  static constexpr int64_t kLimit = int64_t{64} << 20;

  void SetUp() override {
    auto keeper = Keeper::Start(absl::StrCat("memory_limit_", ::getpid()),
                                {.way = ContainmentWay::kCgroup, .memory_bytes = kLimit});
    ASSERT_TRUE(keeper.ok()) << keeper.status();
    keeper_ = *std::move(keeper);
    if (!keeper_->limits_memory()) {
      GTEST_SKIP() << "no memory controller of the control groups can be written here";
    }
  }

  KeeperExited Run(const std::string& script) {
    EXPECT_TRUE(keeper_->Spawn(BashRequest(script, output_)).ok());
    EXPECT_TRUE(WaitFor<KeeperStarted>(*keeper_).has_value());
    const auto exited = WaitFor<KeeperExited>(*keeper_);
    EXPECT_TRUE(exited.has_value());
    EXPECT_TRUE(WaitFor<KeeperTreeGone>(*keeper_).has_value());
    return exited.value_or(KeeperExited{});
  }

  // Takes a variable of 200 MB.
  static constexpr char kGreedy[] =
      "head -c 200000000 /dev/zero | tr '\\0' x | tail -c 200000000 > /dev/null";

  LinePipe output_;
  std::unique_ptr<Keeper> keeper_;
};

TEST_F(MemoryLimitTest, TheKernelsKillIsToldWithThePeak) {
  const KeeperExited exited =
      Run("exec tail -c 200000000 < <(tr '\\0' x < /dev/zero | head -c 200000000) > /dev/null");
  EXPECT_EQ(exited.status.signal, SIGKILL);
  EXPECT_GE(exited.memory.kills, 1);
  EXPECT_GT(exited.memory.peak_bytes, kLimit / 2);
  EXPECT_LE(exited.memory.peak_bytes, kLimit);
}

TEST_F(MemoryLimitTest, AKilledChildIsToldAndTheNextRunStartsAnew) {
  if (!OwnCgroupFolders().memory.empty()) {  // version 2 ends the whole group
    const KeeperExited exited = Run(absl::StrCat(kGreedy, "; exit 3"));
    EXPECT_EQ(exited.status.code, 3);
    EXPECT_GE(exited.memory.kills, 1);
  }
  const KeeperExited modest = Run("exit 0");
  EXPECT_EQ(modest.status.code, 0);
  EXPECT_EQ(modest.memory.kills, 0);
  EXPECT_LT(modest.memory.peak_bytes, kLimit / 2);
  EXPECT_GT(modest.memory.peak_bytes, 0);
}

TEST_F(MemoryLimitTest, NeitherTheOwnerNorTheKeeperIsChosen) {
  EXPECT_GE(Run(absl::StrCat(kGreedy, "; cat /proc/self/oom_score_adj")).memory.kills, 1);
  EXPECT_EQ(output_.ReadLine().value_or("") + "\n", ReadProcFile("/proc/self/oom_score_adj"));
  EXPECT_TRUE(IsAlive(keeper_->pid()));
  const CgroupFolders places = OwnCgroupFolders();
  EXPECT_THAT(places.unified + places.memory, testing::Not(HasSubstr("tony-memory_limit")));
}

TEST(KeeperChoiceTest, TheFirstThatWorksIsTaken) {
  auto keeper = Keeper::Start(absl::StrCat("choice_", ::getpid()));
  ASSERT_TRUE(keeper.ok());
  EXPECT_THAT((*keeper)->containment_name(), testing::AnyOf("cgroup", "namespace", "process-tree"));
  for (const ContainmentWay way : {ContainmentWay::kCgroup, ContainmentWay::kNamespace}) {
    auto other = Keeper::Start(absl::StrCat("choice_of_one_", ::getpid()), {.way = way});
    ASSERT_TRUE(other.ok());
    if (!(*other)->containment_name().empty()) {
      EXPECT_EQ((*keeper)->containment_name(), (*other)->containment_name());
      return;
    }
    LinePipe output;
    const absl::Status refused = (*other)->Spawn(BashRequest("exit 0", output));
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("does not work here: "));
  }
  EXPECT_EQ((*keeper)->containment_name(), "process-tree");
}

}  // namespace
}  // namespace tony::os
