// The contract of containment, for each of its ways: whatever a program does, nothing of it is
// left, and its own end is told as it was.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "os/containment/cgroup_folder.h"
#include "os/containment/container_remains.h"
#include "os/containment/keeper.h"
#include "os/files/proc_file.h"
#include "os/machine/resource_usage.h"
#include "os/processes/process_tree.h"
#include "tests/os/process_support.h"

namespace tony::os {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

std::string NameOf(ContainmentWay way) {
  for (const char* name : {"cgroup", "namespace", "process-tree"}) {
    if (ParseContainmentWay(name) == way) return name;
  }
  return "auto";
}

std::vector<std::string> GroupsOf(const std::string& id) {
  std::vector<std::string> groups;
  for (const CgroupFolder& group : ContainerGroups(id)) {
    groups.push_back(group.path());
  }
  return groups;
}

/// Not thread safe.
class ContainmentTest : public testing::TestWithParam<ContainmentWay> {
 protected:
  void SetUp() override {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {  // of other tests
    }
    keeper_ = StartKeeper();
    ASSERT_NE(keeper_, nullptr);
    if (keeper_->containment_name().empty()) {
      GTEST_SKIP() << keeper_->Spawn(BashRequest("", output_)).message();
    }
    ASSERT_EQ(keeper_->containment_name(), NameOf(GetParam()));
  }

  // Whatever the test did: no group, no process, and no zombie that nobody waits for.
  void TearDown() override {
    keeper_.reset();
    EXPECT_THAT(GroupsOf(id_), testing::IsEmpty());
    EXPECT_THAT(ProcessesOfContainer(id_), testing::IsEmpty());
    EXPECT_LE(::waitpid(-1, nullptr, WNOHANG), 0) << "a zombie is left";
  }

  std::unique_ptr<Keeper> StartKeeper(int64_t memory_bytes = 0) {
    auto keeper = Keeper::Start(id_, {.way = GetParam(), .memory_bytes = memory_bytes});
    EXPECT_TRUE(keeper.ok()) << keeper.status();
    return keeper.ok() ? *std::move(keeper) : nullptr;
  }

  pid_t StartScript(const std::string& script, Duration leftover_grace = minutes(10)) {
    SpawnRequest request = BashRequest(script, output_);
    request.leftover_grace = leftover_grace;
    const absl::Status status = keeper_->Spawn(request);
    EXPECT_TRUE(status.ok()) << status;
    const auto started = WaitFor<KeeperStarted>(*keeper_);
    EXPECT_TRUE(started.has_value());
    return started.value_or(KeeperStarted{}).pid;
  }

  ExitStatus WaitExit() {
    const auto exited = WaitFor<KeeperExited>(*keeper_);
    EXPECT_TRUE(exited.has_value()) << DescribeTree(keeper_->pid());
    return exited.value_or(KeeperExited{}).status;
  }

  // The tree is gone by the keeper's word and by our own look. Returns the number of leftovers.
  int WaitTreeGone() {
    const auto gone = WaitFor<KeeperTreeGone>(*keeper_);
    EXPECT_TRUE(gone.has_value()) << DescribeTree(keeper_->pid());
    EXPECT_THAT(keeper_->Processes(), testing::IsEmpty());
    return gone.value_or(KeeperTreeGone{}).leftovers;
  }

  const std::string id_ = absl::StrCat("containment_test_", ::getpid());
  LinePipe output_;
  std::unique_ptr<Keeper> keeper_;
};

TEST_P(ContainmentTest, TheProgramsExitCodeIsTold) {
  const pid_t pid = StartScript("exit 7");
  EXPECT_GT(pid, 0);
  EXPECT_EQ(WaitExit().code, 7);
  EXPECT_EQ(WaitTreeGone(), 0);
}

TEST_P(ContainmentTest, TheProgramsSignalIsTold) {
  for (const int number : {SIGKILL, SIGTERM, SIGSEGV}) {
    StartScript(absl::StrCat("ulimit -c 0; kill -", number, " $$; sleep 600"));
    EXPECT_EQ(WaitExit().signal, number);
    EXPECT_EQ(WaitTreeGone(), 0);
  }
}

TEST_P(ContainmentTest, ThePidIsTheOneOutside) {
  const pid_t pid = StartScript("echo ready; read -r line < <(sleep 600)");
  ASSERT_EQ(output_.ReadLine(), "ready");
  EXPECT_EQ(ReadProcFile(absl::StrCat("/proc/", pid, "/comm")), "bash\n");
  EXPECT_THAT(keeper_->Processes(), testing::Contains(pid));
  ASSERT_EQ(::kill(pid, SIGUSR1), 0);
  EXPECT_EQ(WaitExit().signal, SIGUSR1);
  WaitTreeGone();
}

TEST_P(ContainmentTest, TheProgramSeesItself) {
  StartScript(
      "[ $(readlink /proc/self) -gt 0 ] && [ -e /proc/$$/exe ] && cut -d' ' -f1 /proc/$$/stat; "
      "echo $$");
  const auto from_proc = output_.ReadLine();
  EXPECT_EQ(from_proc, output_.ReadLine());
  EXPECT_EQ(WaitExit().code, 0);
  WaitTreeGone();
}

TEST_P(ContainmentTest, IsUsedAgain) {
  for (int round = 1; round <= 3; ++round) {
    StartScript(absl::StrCat("sleep 600 & exit ", round));
    EXPECT_EQ(WaitExit().code, round);
    EXPECT_EQ(WaitTreeGone(), 1);
  }
}

TEST_P(ContainmentTest, IsUsedAgainAfterAKill) {
  StartScript("trap '' TERM; echo ready; while :; do sleep 1; done");
  ASSERT_EQ(output_.ReadLine(), "ready");
  ASSERT_TRUE(keeper_->Kill(milliseconds(0)).ok());
  EXPECT_EQ(WaitExit().signal, SIGKILL);
  WaitTreeGone();
  StartScript("sleep 600 & exit 3", milliseconds(0));
  EXPECT_EQ(WaitExit().code, 3);
  EXPECT_EQ(WaitTreeGone(), 1);
}

TEST_P(ContainmentTest, TermComesFirst) {
  StartScript("trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_EQ(output_.ReadLine(), "ready");
  ASSERT_TRUE(keeper_->Kill(minutes(10)).ok());
  EXPECT_EQ(output_.ReadLine(), "asked");
  EXPECT_EQ(WaitExit().code, 3);
  WaitTreeGone();
}

TEST_P(ContainmentTest, IgnoredTermIsFollowedByKill) {
  StartScript(
      "trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & echo ready; "
      "while :; do sleep 1; done");
  ASSERT_EQ(output_.ReadLine(), "ready");
  ASSERT_TRUE(keeper_->Kill(milliseconds(50)).ok());
  EXPECT_EQ(WaitExit().signal, SIGKILL);
  WaitTreeGone();
}

TEST_P(ContainmentTest, WhatIsStoppedIsKilled) {
  StartScript("trap 'exit 5' TERM; echo ready; kill -STOP $$; exit 6");
  ASSERT_EQ(output_.ReadLine(), "ready");
  ASSERT_TRUE(keeper_->Kill(minutes(10)).ok());
  EXPECT_THAT(WaitExit().code, testing::AnyOf(5, 6));  // 6: TERM came before it stopped itself
  WaitTreeGone();
}

TEST_P(ContainmentTest, ADaemonIsALeftover) {
  // A double fork with setsid, without the container's id in the environment and without output.
  StartScript(
      "setsid bash -c 'env -i setsid sleep 600 > /dev/null 2>&1 & echo started' & wait $!; "
      "exec > /dev/null; exit 4");
  ASSERT_EQ(output_.ReadLine(), "started");
  EXPECT_EQ(WaitExit().code, 4);
  EXPECT_EQ(WaitTreeGone(), 1);
}

TEST_P(ContainmentTest, TheProgramsEndIsToldBeforeThatOfItsLeftovers) {
  // They end only by the second signal, which comes after the first event was seen.
  StartScript(
      "(trap '' TERM; echo ready; while :; do sleep 600; done) & read -r line < <(sleep 0.05); "
      "exit 8",
      minutes(10));
  ASSERT_EQ(output_.ReadLine(), "ready");
  EXPECT_EQ(WaitExit().code, 8);
  ASSERT_TRUE(keeper_->Kill(milliseconds(0)).ok());
  EXPECT_GE(WaitTreeGone(), 1);
}

TEST_P(ContainmentTest, ClosedOutputIsNoEnd) {
  const pid_t pid = StartScript("echo closing; exec > /dev/null 2>&1; exec sleep 600");
  ASSERT_EQ(output_.ReadLine(), "closing");
  EXPECT_TRUE(IsAlive(pid));
  ASSERT_TRUE(keeper_->Kill(minutes(10)).ok());
  EXPECT_EQ(WaitExit().signal, SIGTERM);
  WaitTreeGone();
}

TEST_P(ContainmentTest, ABombEndsWhileItForks) {
  StartScript(
      "trap '' TERM; for ((i = 0; i < 1000; ++i)); do (sleep 600; :) & "
      "((i == 100)) && echo many; done; wait");
  ASSERT_EQ(output_.ReadLine(), "many");
  ASSERT_TRUE(keeper_->Kill(milliseconds(0)).ok());
  EXPECT_EQ(WaitExit().signal, SIGKILL);
  WaitTreeGone();
}

TEST_P(ContainmentTest, AProgramThatKeepsForkingAwayEnds) {
  // Each process lives only long enough to start the next one; 2000 at most.
  StartScript(
      "trap '' TERM; away() { (($1 > 0)) && away $(($1 - 1)) & }; away 2000; echo ready; exit 0",
      milliseconds(5));
  ASSERT_EQ(output_.ReadLine(), "ready");
  EXPECT_EQ(WaitExit().code, 0);
  WaitTreeGone();
}

TEST_P(ContainmentTest, UsageIsMeasured) {
  StartScript("for ((i = 0; i < 60000; ++i)); do :; done; echo done; read -r line < <(sleep 600)");
  ASSERT_EQ(output_.ReadLine(), "done");
  const ResourceUsage usage = ReadResourceUsage(keeper_->Processes());
  EXPECT_GE(usage.process_count, 1);
  EXPECT_LE(usage.process_count, 3);
  EXPECT_GT(usage.cpu_time, milliseconds(5));
  ASSERT_TRUE(keeper_->Kill(milliseconds(0)).ok());
  const auto exited = WaitFor<KeeperExited>(*keeper_);
  ASSERT_TRUE(exited.has_value());
  EXPECT_GT(exited->user_time + exited->system_time, milliseconds(5));
  WaitTreeGone();
}

TEST_P(ContainmentTest, TheOwnersOtherProcessesAreLeftAlone) {
  const LinePipe idle;
  const pid_t neighbour = StartMarked(id_ + "_of_another", 1, idle);
  StartScript("trap '' TERM; echo ready; while :; do sleep 1; done");
  ASSERT_EQ(output_.ReadLine(), "ready");
  ASSERT_TRUE(keeper_->Kill(milliseconds(0)).ok());
  WaitExit();
  WaitTreeGone();
  EXPECT_TRUE(IsAlive(neighbour));
  ::kill(neighbour, SIGKILL);
  ::waitpid(neighbour, nullptr, 0);
}

// A parent that ignores TERM, with a child, and two daemons that have left its session, of which
// the second has dropped its environment before it was started.
constexpr char kTree[] =
    "trap '' TERM; (trap '' TERM; while :; do sleep 600; done) & "
    "setsid bash -c 'setsid sleep 600 > /dev/null 2>&1 &'; "
    "env -i setsid bash -c 'setsid sleep 600 > /dev/null 2>&1 &'; "
    "echo ready; while :; do sleep 600; done";

TEST_P(ContainmentTest, TheDestructorTakesTheTreeAlong) {
  StartScript(kTree);
  ASSERT_EQ(output_.ReadLine(), "ready");
  std::vector<pid_t> tree = keeper_->Processes();
  EXPECT_GE(tree.size(), 4u);
  tree.push_back(keeper_->pid());
  keeper_.reset();
  for (const pid_t pid : tree) EXPECT_FALSE(IsAlive(pid)) << pid;
}

TEST_P(ContainmentTest, NothingOutlivesAKilledKeeper) {
  keeper_.reset();
  keeper_ = StartKeeper(/*memory_bytes=*/int64_t{1} << 30);
  StartScript(kTree);
  ASSERT_EQ(output_.ReadLine(), "ready");
  const std::vector<pid_t> tree = keeper_->Processes();
  EXPECT_GE(tree.size(), 4u);
  ASSERT_EQ(::kill(keeper_->pid(), SIGKILL), 0);
  const auto lost = WaitFor<KeeperLost>(*keeper_);
  ASSERT_TRUE(lost.has_value());
  EXPECT_EQ(lost->survivors, 0);
  for (const pid_t pid : tree) EXPECT_FALSE(IsAlive(pid)) << pid;
}

/// An owner in a process of its own, whose keeper has started kTree. Not thread safe.
struct ForeignOwner {
  pid_t owner = 0;
  pid_t keeper = 0;
  std::vector<pid_t> tree;
};

ForeignOwner StartOwner(const std::string& id, ContainmentWay way) {
  ForeignOwner foreign;
  LinePipe output, keeper_output;
  foreign.owner = ForkChild([&] {
    auto keeper = Keeper::Start(id, {.way = way, .memory_bytes = int64_t{1} << 30});
    if (!keeper.ok() || !(*keeper)->Spawn(BashRequest(kTree, output)).ok()) return;
    ::dprintf(keeper_output.write_fd(), "%d\n", (*keeper)->pid());
    while (true) ::pause();
  });
  foreign.keeper = keeper_output.ReadNumber();
  EXPECT_EQ(output.ReadLine(), "ready");
  foreign.tree = Descendants(foreign.keeper);
  EXPECT_GE(foreign.tree.size(), 4u);
  return foreign;
}

TEST_P(ContainmentTest, NothingOutlivesAKilledOwner) {
  keeper_.reset();
  const ForeignOwner foreign = StartOwner(id_, GetParam());
  ASSERT_GT(foreign.keeper, 0);
  ASSERT_EQ(::kill(foreign.owner, SIGKILL), 0);
  ASSERT_TRUE(WaitGone(foreign.keeper));
  for (const pid_t pid : foreign.tree) EXPECT_FALSE(IsAlive(pid)) << pid;
  ::waitpid(foreign.owner, nullptr, 0);
  ::waitpid(foreign.keeper, nullptr, 0);  // this process is the next subreaper
}

TEST_P(ContainmentTest, WhoStartedTheOwnerEndsWhatOutlivesBothAtOnce) {
  keeper_.reset();
  const ForeignOwner foreign = StartOwner(id_, GetParam());
  ASSERT_GT(foreign.keeper, 0);
  ASSERT_EQ(::kill(foreign.keeper, SIGSTOP), 0);  // so that it cannot act in between
  ASSERT_EQ(::kill(foreign.owner, SIGKILL), 0);
  ::waitpid(foreign.owner, nullptr, 0);
  ASSERT_EQ(::kill(foreign.keeper, SIGKILL), 0);
  ::waitpid(foreign.keeper, nullptr, 0);
  EXPECT_EQ(EndContainer(id_, {.own = std::set<pid_t>(), .dying = {}}), 0);
  // The youngest first: a namespace's first process ends when all others have been waited for, and
  // they have become children of this process.
  for (auto pid = foreign.tree.rbegin(); pid != foreign.tree.rend(); ++pid) {
    EXPECT_TRUE(WaitGone(*pid)) << *pid;
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, ContainmentTest,
                         testing::Values(ContainmentWay::kCgroup, ContainmentWay::kNamespace,
                                         ContainmentWay::kProcessTree),
                         [](const testing::TestParamInfo<ContainmentWay>& way) {
                           std::string name = NameOf(way.param);
                           std::erase(name, '-');
                           return name;
                         });

TEST(ContainmentUserTest, AnOrdinaryUserHasTheSameContract) {
  if (::geteuid() != 0) GTEST_SKIP() << "the other tests run as an ordinary user already";
  constexpr uid_t kNobody = 65534;
  LinePipe output;
  const pid_t child = ::fork();
  if (child == 0) {
    // Not by path, which that user might not be allowed to walk.
    const int self = ::open("/proc/self/exe", O_RDONLY);
    for (const char* name : {"GTEST_OUTPUT", "GTEST_SHARD_INDEX", "GTEST_TOTAL_SHARDS"}) {
      ::unsetenv(name);
    }
    ::dup2(output.write_fd(), STDOUT_FILENO);
    if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) ::_exit(3);
    const char* const arguments[] = {"os_test", "--gtest_filter=Ways/ContainmentTest.*", nullptr};
    ::fexecve(self, const_cast<char* const*>(arguments), environ);
    ::_exit(4);
  }
  output.CloseWriteEnd();
  std::string log;
  int passed = 0;
  while (const auto line = output.ReadLine()) {
    if (line->starts_with("[       OK ]")) ++passed;
    log += *line + "\n";
  }
  if (!WaitGone(child)) {
    ADD_FAILURE() << "the tests of that user do not end\n" << log << DescribeTree(child);
    ::kill(child, SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const ExitStatus exit = ExitStatusFromWait(status);
  EXPECT_TRUE(exit.ok()) << log;
  EXPECT_GE(passed, 15);  // what no machine forbids: by the process tree
}

}  // namespace
}  // namespace tony::os
