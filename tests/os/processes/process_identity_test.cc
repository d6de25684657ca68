// Tests the identity of a process: its owner, its program and its start time.
#include "os/processes/process_identity.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "os/processes/own_program.h"
#include "tests/os/process_support.h"
#include "tests/os/temporary_folder.h"

namespace tony::os {
namespace {

// A user whom no account belongs to.
constexpr uid_t kStranger = 54322;

// A child that has done `first` when this returns, and then waits for its end.
pid_t StartAfter(const std::function<void()>& first) {
  LinePipe ready;
  const pid_t pid = ForkChild([&] {
    first();
    ::dprintf(ready.write_fd(), "ready\n");
    ::pause();
  });
  EXPECT_EQ(ready.ReadLine(), "ready");
  return pid;
}

void End(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

TEST(ProcessIdentityTest, TheStartStaysAndEndsWithTheProcess) {
  const pid_t child = StartAfter([] {});
  const std::optional<int64_t> start = ProcessStart(child);
  ASSERT_TRUE(start.has_value());
  EXPECT_EQ(ProcessStart(child), start);
  EXPECT_GE(*start, ProcessStart(::getpid()).value());
  EXPECT_GT(*start, 0);
  End(child);
  EXPECT_EQ(ProcessStart(child), std::nullopt);
  EXPECT_FALSE(IsOwnProcess(child));
  EXPECT_FALSE(Executes(child, OwnProgram().value()));
  EXPECT_EQ(ArgumentOf(child, "--"), std::nullopt);
}

TEST(ProcessIdentityTest, ANameMayHoldAnything) {
  const pid_t child = StartAfter([] { ::prctl(PR_SET_NAME, ") Z 1 (", 0, 0, 0); });
  EXPECT_GE(ProcessStart(child).value_or(0), ProcessStart(::getpid()).value());
  End(child);
}

TEST(ProcessIdentityTest, OnlyWhatIsThisUsersInEveryRespectIsOwn) {
  const pid_t own = StartAfter([] {});
  EXPECT_TRUE(IsOwnProcess(own));
  End(own);
  if (::getuid() != 0) GTEST_SKIP() << "only root can become another user";
  const auto become = [](uid_t real, uid_t effective, uid_t saved) {
    return StartAfter([=] {
      if (::setresuid(real, effective, saved) != 0) ::_exit(1);
      // Its files in /proc are root's, as those of a process that has changed its user are.
      ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    });
  };
  for (const pid_t stranger : {become(kStranger, kStranger, kStranger), become(kStranger, 0, 0),
                               become(0, kStranger, 0), become(0, 0, kStranger)}) {
    EXPECT_FALSE(IsOwnProcess(stranger));
    End(stranger);
  }
}

TEST(ProcessIdentityTest, AProgramIsKnownByItsFileAlsoWhenThatIsReplaced) {
  const TemporaryFolder folder;
  const std::string program = folder / "program";
  std::filesystem::copy_file("/bin/sleep", program);
  LinePipe until_exec;
  const pid_t child = ForkChild([&] { ::execl(program.c_str(), "sleep", "600", nullptr); });
  until_exec.CloseWriteEnd();
  ASSERT_EQ(until_exec.ReadLine(), std::nullopt);
  const auto executes = [child](const std::string& path) { return Executes(child, path); };
  EXPECT_TRUE(executes(program));
  EXPECT_FALSE(executes("/bin/sleep"));
  EXPECT_FALSE(executes(folder / "missing"));
  std::filesystem::create_symlink(program, folder / "link");
  EXPECT_TRUE(executes(folder / "link"));

  std::filesystem::copy_file("/bin/sleep", folder / "newer");
  std::filesystem::rename(folder / "newer", program);
  EXPECT_TRUE(executes(program));
  EXPECT_FALSE(executes("/bin/sleep"));
  End(child);
}

TEST(ProcessIdentityTest, AnArgumentIsFoundByItsBeginning) {
  LinePipe output, idle;
  const pid_t child = ForkChild([&] {
    ::dup2(idle.read_fd(), STDIN_FILENO);
    ::dup2(output.write_fd(), STDOUT_FILENO);
    ::execlp("bash", "bash", "-c", "echo; read -r", "x--a=no", "--a=one and a half", "--a=two",
             nullptr);
  });
  ASSERT_TRUE(output.ReadLine().has_value());
  EXPECT_EQ(ArgumentOf(child, "--a="), "one and a half");
  EXPECT_EQ(ArgumentOf(child, "--b="), std::nullopt);
  End(child);
}

}  // namespace
}  // namespace tony::os
