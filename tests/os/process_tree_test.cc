// Trees as /proc shows them.
#include "os/process_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "tests/os/process_support.h"

namespace tony::os {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

// A child that runs a script after telling that its exec is done (the script's first output).
pid_t StartBash(const std::string& container_id, const std::string& script,
                const LinePipe& output) {
  return ForkChild([&] {
    ::dup2(output.write_fd(), STDOUT_FILENO);
    ::setenv(kContainerIdVariable, container_id.c_str(), 1);
    ::execlp("bash", "bash", "-c", script.c_str(), nullptr);
  });
}

void End(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

TEST(ProcessTreeTest, DescendantsAreFoundAtAnyDepth) {
  LinePipe output;
  const pid_t child = StartBash("any", "(sleep 600 & echo $!; wait) & echo $!; wait", output);
  const pid_t first = output.ReadNumber();
  const pid_t second = output.ReadNumber();
  EXPECT_THAT(Descendants(child), testing::UnorderedElementsAre(first, second));
  EXPECT_THAT(Descendants(::getpid()), Contains(child));
  EXPECT_THAT(Descendants(::getpid()), Not(Contains(::getpid())));
  End(child);
  End(first);
  End(second);
}

TEST(ProcessTreeTest, ZombiesAreLeftOut) {
  const pid_t zombie = ForkChild([] {});
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, zombie, &info, WEXITED | WNOWAIT), 0);
  EXPECT_THAT(Descendants(::getpid()), Not(Contains(zombie)));
  ::waitpid(zombie, nullptr, 0);
}

TEST(ProcessTreeTest, TheContainersIdIsComparedAsAWhole) {
  const std::string id = "process_tree_test_" + std::to_string(::getpid());
  LinePipe output;
  const pid_t exact = StartBash(id, "echo; exec sleep 600", output);
  ASSERT_TRUE(output.ReadLine().has_value());
  const pid_t longer = StartBash(id + "1", "echo; exec sleep 600", output);
  ASSERT_TRUE(output.ReadLine().has_value());
  EXPECT_THAT(ProcessesOfContainer(id), ElementsAre(exact));
  EXPECT_THAT(ProcessesOfContainer("X" + id), IsEmpty());
  End(exact);
  End(longer);
}

TEST(ProcessTreeTest, StraysAreThoseOutsideOfBothTrees) {
  const std::string id = "process_tree_strays_" + std::to_string(::getpid());
  LinePipe output;
  const pid_t marked = StartBash(id, "sleep 600 & echo $!; wait", output);
  const pid_t below = output.ReadNumber();
  const pid_t other = ForkChild([] { ::pause(); });
  // Seen from a stranger both are strays; seen from the marked process or its parent none is.
  EXPECT_THAT(TreeStrays(other, other, id), testing::UnorderedElementsAre(marked, below));
  EXPECT_THAT(TreeStrays(other, ::getpid(), id), IsEmpty());
  EXPECT_THAT(TreeStrays(marked, other, id), IsEmpty());
  EXPECT_THAT(TreeStrays(below, other, id), IsEmpty()) << "an ancestor is no stray";
  EXPECT_THAT(TreeMembers(marked, ::getpid(), id), ElementsAre(below));
  End(marked);
  End(below);
  End(other);
}

}  // namespace
}  // namespace tony::os
