// The keeper's lease, for each way of containment: a program runs no longer than its owner's last
// word allows, whoever was stopped meanwhile.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "os/containment/keeper.h"
#include "tests/os/process_support.h"

namespace tony::os {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

// With a child in another session. Says so when it is asked to end, and goes on.
constexpr char kTree[] =
    "trap 'echo asked' TERM; setsid sleep 600 & echo ready; while :; do wait; done";

std::string NameOf(const testing::TestParamInfo<ContainmentWay>& way) {
  return way.param == ContainmentWay::kCgroup      ? "Cgroup"
         : way.param == ContainmentWay::kNamespace ? "Namespace"
                                                   : "ProcessTree";
}

/// Not thread safe.
class LeaseTest : public testing::TestWithParam<ContainmentWay> {
 protected:
  void SetUp() override {
    auto keeper = Keeper::Start(id_, {.way = GetParam()});
    ASSERT_TRUE(keeper.ok()) << keeper.status();
    keeper_ = *std::move(keeper);
    if (keeper_->containment_name().empty()) {
      GTEST_SKIP() << keeper_->Spawn(BashRequest("", output_)).message();
    }
  }

  // Returns its processes.
  std::vector<pid_t> StartTree() {
    EXPECT_TRUE(keeper_->Spawn(BashRequest(kTree, output_)).ok());
    EXPECT_TRUE(WaitFor<KeeperStarted>(*keeper_).has_value());
    EXPECT_EQ(output_.ReadLine(), "ready");
    std::vector<pid_t> tree = keeper_->Processes();
    EXPECT_EQ(tree.size(), 2);
    return tree;
  }
  void SetLease(Duration left) { EXPECT_TRUE(keeper_->RenewLease(clock_.Now() + left).ok()); }
  static void ExpectSuspended(const std::vector<pid_t>& tree) {
    for (const pid_t pid : tree) EXPECT_TRUE(WaitForState(pid, 'T')) << pid;
  }
  static void ExpectRunning(const std::vector<pid_t>& tree) {
    for (const pid_t pid : tree) EXPECT_TRUE(WaitForState(pid, 'S')) << pid;
  }
  void ExpectKilledWithoutAWord() {
    const auto exited = WaitFor<KeeperExited>(*keeper_);
    ASSERT_TRUE(exited.has_value());
    EXPECT_EQ(exited->status.signal, SIGKILL);
    EXPECT_TRUE(WaitFor<KeeperTreeGone>(*keeper_).has_value());
    output_.CloseWriteEnd();
    EXPECT_EQ(output_.ReadLine(), std::nullopt);
  }

  const std::string id_ = absl::StrCat("lease_test_", ::getpid());
  const SystemClock clock_;
  LinePipe output_;
  std::unique_ptr<Keeper> keeper_;
};

TEST_P(LeaseTest, AProgramIsSuspendedWhileItHasNone) {
  SetLease(hours(1));
  const std::vector<pid_t> tree = StartTree();
  ExpectRunning(tree);
  SetLease(milliseconds(20));
  ExpectSuspended(tree);
  SetLease(hours(1));
  ExpectRunning(tree);
  ASSERT_TRUE(keeper_->Kill(milliseconds(0)).ok());
  ExpectKilledWithoutAWord();
}

TEST_P(LeaseTest, WhoHasNoneHasNoGrace) {
  const std::vector<pid_t> tree = StartTree();
  SetLease(milliseconds(0));
  ExpectSuspended(tree);
  ASSERT_TRUE(keeper_->Kill(minutes(10)).ok());
  ExpectKilledWithoutAWord();
}

TEST_P(LeaseTest, TheGraceEndsWithTheLease) {
  const std::vector<pid_t> tree = StartTree();
  SetLease(hours(1));
  ASSERT_TRUE(keeper_->Kill(minutes(10)).ok());
  EXPECT_EQ(output_.ReadLine(), "asked");
  SetLease(milliseconds(0));
  ExpectKilledWithoutAWord();
}

TEST_P(LeaseTest, ItRunsOutWhileTheKeeperIsStopped) {
  const std::vector<pid_t> tree = StartTree();
  for (const pid_t pid : tree) ::kill(pid, SIGSTOP);
  ASSERT_EQ(::kill(keeper_->pid(), SIGSTOP), 0);
  ExpectSuspended({keeper_->pid()});
  SetLease(milliseconds(0));  // which it will read when it wakes up
  ASSERT_EQ(::kill(keeper_->pid(), SIGCONT), 0);
  // Waking the program has no effect then.
  for (const pid_t pid : tree) ::kill(pid, SIGCONT);
  ExpectSuspended(tree);
  ASSERT_TRUE(keeper_->Kill(minutes(10)).ok());
  ExpectKilledWithoutAWord();
}

TEST_P(LeaseTest, WithoutOneThereIsNoLimit) {
  const std::vector<pid_t> tree = StartTree();
  ASSERT_TRUE(keeper_->Kill(minutes(10)).ok());
  EXPECT_EQ(output_.ReadLine(), "asked");
  ASSERT_TRUE(keeper_->Kill(milliseconds(0)).ok());
  ExpectKilledWithoutAWord();
}

INSTANTIATE_TEST_SUITE_P(Ways, LeaseTest,
                         testing::Values(ContainmentWay::kCgroup, ContainmentWay::kNamespace,
                                         ContainmentWay::kProcessTree),
                         NameOf);

}  // namespace
}  // namespace tony::os
