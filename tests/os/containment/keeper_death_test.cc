// Tests that nothing remains when the keeper's owner, or the keeper itself, is killed with SIGKILL.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "os/containment/keeper.h"
#include "os/processes/process_tree.h"
#include "tests/os/process_support.h"

namespace tony::os {
namespace {

// A parent that ignores TERM, with a child, and a daemon that has left its session.
constexpr char kTree[] =
    "trap '' TERM; (trap '' TERM; while :; do sleep 600; done) & echo $!; "
    "setsid bash -c 'setsid sleep 600 & echo $!' ; echo $$; while :; do sleep 600; done";

std::string UniqueId(const std::string& name) { return name + "_" + std::to_string(::getpid()); }

std::vector<pid_t> ReadTree(LinePipe& output) {
  std::vector<pid_t> tree;
  for (int i = 0; i < 3; ++i) tree.push_back(output.ReadNumber());
  return tree;
}

TEST(KeeperDeathTest, NothingOutlivesAnOwnerThatJustEnds) {
  const std::string id = UniqueId("owner_ended");
  LinePipe output, keeper_output, go;
  const pid_t owner = ForkChild([&] {
    auto keeper = Keeper::Start(id, {.way = ContainmentWay::kProcessTree});
    if (!keeper.ok() || !(*keeper)->Spawn(BashRequest(kTree, output)).ok()) return;
    ::dprintf(keeper_output.write_fd(), "%d\n", (*keeper)->pid());
    go.CloseWriteEnd();
    go.ReadLine();  // until the test closes its end
    ::_exit(0);     // without the keeper's destructor
  });
  const std::vector<pid_t> tree = ReadTree(output);
  for (const pid_t pid : tree) ASSERT_TRUE(IsAlive(pid)) << pid;
  const pid_t keeper = keeper_output.ReadNumber();
  ASSERT_GT(keeper, 0);
  go.CloseWriteEnd();
  EXPECT_TRUE(WaitGone(keeper));
  for (const pid_t pid : tree) EXPECT_FALSE(IsAlive(pid)) << pid;
  EXPECT_TRUE(ProcessesOfContainer(id).empty());
  ::waitpid(owner, nullptr, 0);
}

TEST(KeeperDeathTest, TheOwnerCleansUpWhenTheKeeperIsKilled) {
  const std::string id = UniqueId("keeper_killed");
  LinePipe output;
  auto keeper = Keeper::Start(id, {.way = ContainmentWay::kProcessTree});
  ASSERT_TRUE(keeper.ok());
  ASSERT_TRUE((*keeper)->Spawn(BashRequest(kTree, output)).ok());
  ASSERT_TRUE(WaitFor<KeeperStarted>(**keeper).has_value());
  const std::vector<pid_t> tree = ReadTree(output);
  ASSERT_EQ(::kill((*keeper)->pid(), SIGKILL), 0);
  const auto lost = WaitFor<KeeperLost>(**keeper);
  ASSERT_TRUE(lost.has_value());
  EXPECT_EQ(lost->survivors, 0);
  for (const pid_t pid : tree) EXPECT_FALSE(IsAlive(pid)) << pid;
  EXPECT_EQ((*keeper)->Spawn(BashRequest("exit 0", output)).code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE((*keeper)->Next().has_value());
}

}  // namespace
}  // namespace tony::os
