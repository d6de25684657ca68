// Trees as /proc shows them.
#include "os/processes/process_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "os/containment/container_remains.h"

#include "tests/os/process_support.h"

namespace tony::os {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

// A user whom no account belongs to.
constexpr uid_t kStranger = 54322;

// A child that runs a script, with `idle` as its input: a read lasts until the test's end. The
// scripts whose environment matters exec nothing more, since during an exec nobody can see it.
pid_t StartBash(const std::string& container_id, const std::string& script, const LinePipe& output,
                const LinePipe& idle) {
  return ForkChild([&] {
    ::dup2(idle.read_fd(), STDIN_FILENO);
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
  LinePipe output, idle;
  const pid_t child = StartBash("any", "(sleep 600 & echo $!; wait) & echo $!; wait", output, idle);
  const pid_t first = output.ReadNumber();
  const pid_t second = output.ReadNumber();
  EXPECT_THAT(Descendants(child), testing::UnorderedElementsAre(first, second));
  EXPECT_THAT(Descendants(::getpid()), Contains(child));
  EXPECT_THAT(Descendants(::getpid()), Not(Contains(::getpid())));
  EXPECT_TRUE(Descends(second, child));
  EXPECT_TRUE(Descends(child, child));
  EXPECT_TRUE(Descends(second, ::getpid()));
  EXPECT_FALSE(Descends(child, second));
  EXPECT_FALSE(Descends(1, child));
  EXPECT_FALSE(Descends(0, child));
  EXPECT_THAT(DescendantsAndZombies(child, {}), testing::UnorderedElementsAre(first, second));
  EXPECT_THAT(DescendantsAndZombies(child, {first, second}), IsEmpty());
  EXPECT_THAT(DescendantsAndZombies(::getpid(), {child}),
              testing::Each(testing::Not(testing::AnyOf(child, first, second))));
  End(child);
  End(first);
  End(second);
}

TEST(ProcessTreeTest, ArgumentsTellProcessesApart) {
  LinePipe output, idle;
  const auto start = [&](const std::string& argument) {
    return ForkChild([&] {
      ::dup2(idle.read_fd(), STDIN_FILENO);
      ::dup2(output.write_fd(), STDOUT_FILENO);
      // The subshell shows the same arguments.
      ::execlp("bash", "bash", "-c", "(echo x; read); :", "first", argument.c_str(), nullptr);
    });
  };
  const std::string prefix = "--process-tree-test-" + std::to_string(::getpid()) + "=";
  const pid_t one = start(prefix + "one and a half");
  const pid_t two = start(prefix + "two");
  output.ReadLine();
  output.ReadLine();
  const std::string bash = std::filesystem::canonical("/bin/bash");
  EXPECT_THAT(ProcessesByArgument(prefix, bash),
              testing::UnorderedElementsAre(testing::Pair("one and a half", one),
                                            testing::Pair("two", two)));
  EXPECT_THAT(ProcessesByArgument("x" + prefix, bash), IsEmpty());
  EXPECT_THAT(ProcessesByArgument(prefix, "/bin/true"), IsEmpty()) << "another program's argument";
  for (const pid_t pid : {one, two}) {
    for (const pid_t below : Descendants(pid)) ::kill(below, SIGKILL);
    End(pid);
  }
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
  LinePipe output, idle;
  const pid_t exact = StartBash(id, "echo; read -r", output, idle);
  ASSERT_TRUE(output.ReadLine().has_value());
  const pid_t longer = StartBash(id + "1", "echo; read -r", output, idle);
  ASSERT_TRUE(output.ReadLine().has_value());
  EXPECT_THAT(ProcessesOfContainer(id), ElementsAre(exact));
  EXPECT_THAT(ProcessesOfContainer("X" + id), IsEmpty());
  End(exact);
  End(longer);
}

TEST(ProcessTreeTest, WhatAStrangerMarksIsNotTheContainers) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can become another user";
  const std::string id = "process_tree_stranger_" + std::to_string(::getpid());
  const std::string argument = "--" + id + "=x";
  LinePipe output, idle;
  const pid_t stranger = ForkChild([&] {
    ::dup2(idle.read_fd(), STDIN_FILENO);
    ::dup2(output.write_fd(), STDOUT_FILENO);
    ::setenv(kContainerIdVariable, id.c_str(), 1);
    if (::setgid(kStranger) != 0 || ::setuid(kStranger) != 0) return;
    ::execlp("bash", "bash", "-c", "echo; read -r", "x", argument.c_str(), nullptr);
  });
  ASSERT_TRUE(output.ReadLine().has_value());
  EXPECT_THAT(ProcessesOfContainer(id), IsEmpty());
  EXPECT_THAT(TreeStrays(::getpid(), ::getpid(), id), IsEmpty());
  EXPECT_THAT(ProcessesByArgument("--" + id + "=", std::filesystem::canonical("/bin/bash")),
              IsEmpty());
  // It is neither ended nor waited for.
  EXPECT_EQ(EndContainer(id), 0);
  EXPECT_TRUE(IsAlive(stranger));
  End(stranger);
}

TEST(ProcessTreeTest, WhatIsOlderThanTheMarkIsPassedOver) {
  const std::string id = "mark_test_" + std::to_string(::getpid());
  LinePipe output, idle;
  const pid_t older = StartBash(id, "echo; read -r", output, idle);
  ASSERT_TRUE(output.ReadLine().has_value());
  const ForkMark mark = ForkMark::At(older);
  const pid_t younger = StartBash(id, "echo; read -r", output, idle);
  ASSERT_TRUE(output.ReadLine().has_value());
  EXPECT_THAT(ProcessesOfContainer(id), testing::UnorderedElementsAre(older, younger));
  // When the numbers may have started again meanwhile, nothing may be passed over.
  const bool again = mark.OldestYounger() == 0;
  EXPECT_TRUE(again || mark.OldestYounger() == older + 1);
  if (!again) {
    EXPECT_THAT(ProcessesOfContainer(id, mark), ElementsAre(younger));
  }
  End(older);
  End(younger);
}

TEST(ProcessTreeTest, StraysAreThoseOutsideOfBothTrees) {
  const std::string id = "process_tree_strays_" + std::to_string(::getpid());
  LinePipe output, idle;
  const pid_t marked =
      StartBash(id, "exec 3<&0; (echo $BASHPID; read -r) <&3 & wait", output, idle);
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
