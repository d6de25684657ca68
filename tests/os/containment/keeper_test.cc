// The keeper with real programs: starts and ends. Trees that do not want to end:
// containment_test.cc.
#include "os/containment/keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <vector>

#include "os/files/proc_file.h"
#include "os/processes/process_tree.h"
#include "os/processes/pseudo_terminal.h"
#include "tests/os/process_support.h"
#include "tests/os/temporary_folder.h"

namespace tony::os {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

class KeeperTest : public testing::Test {
 protected:
  void SetUp() override {
    // Numbers of processes are the same inside and outside.
    auto keeper = Keeper::Start(id_, {.way = ContainmentWay::kProcessTree});
    ASSERT_TRUE(keeper.ok()) << keeper.status();
    keeper_ = *std::move(keeper);
  }

  // Starts a script and returns its process.
  pid_t StartScript(const std::string& script) {
    const absl::Status status = keeper_->Spawn(BashRequest(script, output_));
    EXPECT_TRUE(status.ok()) << status;
    const auto started = WaitFor<KeeperStarted>(*keeper_);
    EXPECT_TRUE(started.has_value());
    return started.value_or(KeeperStarted{}).pid;
  }

  // The tree is gone by the keeper's word and by our own look.
  void ExpectTreeGone(std::optional<int> leftovers = std::nullopt) {
    const auto gone = WaitFor<KeeperTreeGone>(*keeper_);
    ASSERT_TRUE(gone.has_value());
    if (leftovers) {
      EXPECT_EQ(gone->leftovers, *leftovers);
    }
    EXPECT_TRUE(TreeMembers(keeper_->pid(), ::getpid(), id_).empty());
  }

  const std::string id_ = "container_of_keeper_test_" + std::to_string(::getpid());
  // A command that runs beside the program; its standard input is input_.
  SpawnRequest CommandRequest(const std::string& script, const LinePipe& output) const {
    SpawnRequest request = BashRequest(script, output);
    request.stdin_fd = input_.read_fd();
    return request;
  }

  LinePipe output_;
  LinePipe input_;
  std::unique_ptr<Keeper> keeper_;
};

TEST_F(KeeperTest, TellsStartExitCodeAndEndOfTree) {
  const pid_t pid = StartScript("echo $$; exit 7");
  EXPECT_EQ(output_.ReadNumber(), pid);
  const auto exited = WaitFor<KeeperExited>(*keeper_);
  ASSERT_TRUE(exited.has_value());
  EXPECT_EQ(exited->status.code, 7);
  EXPECT_EQ(exited->status.signal, 0);
  ExpectTreeGone(0);
  EXPECT_FALSE(keeper_->Next().has_value());
}

TEST_F(KeeperTest, TellsTheSignalThatEndedTheProgram) {
  StartScript("kill -9 $$");
  const auto exited = WaitFor<KeeperExited>(*keeper_);
  ASSERT_TRUE(exited.has_value());
  EXPECT_EQ(exited->status.signal, SIGKILL);
  EXPECT_FALSE(exited->status.ok());
  ExpectTreeGone(0);
}

TEST_F(KeeperTest, TellsWhatTheProgramUsed) {
  StartScript("for ((i = 0; i < 60000; ++i)); do :; done");
  const auto exited = WaitFor<KeeperExited>(*keeper_);
  ASSERT_TRUE(exited.has_value());
  EXPECT_GT(exited->user_time + exited->system_time, milliseconds(5));
  EXPECT_GT(exited->max_rss_bytes, 500'000);
  EXPECT_LT(exited->max_rss_bytes, 1'000'000'000);
}

TEST_F(KeeperTest, ACommandRunsBesideTheProgram) {
  StartScript("sleep 600");
  LinePipe output;
  SpawnRequest request = CommandRequest("read word; echo $word $$; exit 3", output);
  ASSERT_TRUE(keeper_->Exec(7, request).ok());
  const auto started = WaitFor<KeeperExecStarted>(*keeper_);
  ASSERT_TRUE(started.has_value());
  EXPECT_EQ(started->exec, 7);
  ASSERT_EQ(::write(input_.write_fd(), "hello\n", 6), 6);
  EXPECT_EQ(output.ReadLine(), "hello " + std::to_string(started->pid));
  const auto exited = WaitFor<KeeperExecExited>(*keeper_);
  ASSERT_TRUE(exited.has_value());
  EXPECT_EQ(exited->exec, 7);
  EXPECT_EQ(exited->status.code, 3);
  ASSERT_TRUE(keeper_->Kill(milliseconds(0)).ok());
  EXPECT_TRUE(WaitFor<KeeperExited>(*keeper_).has_value());
  ExpectTreeGone();
}

TEST_F(KeeperTest, ACommandMayHaveATerminal) {
  StartScript("sleep 600");
  absl::StatusOr<PseudoTerminal> terminal = OpenPseudoTerminal({33, 77});
  ASSERT_TRUE(terminal.ok()) << terminal.status();
  LinePipe output;
  // bash runs no trap of a signal that comes just before `read` has begun to wait, until that ends.
  SpawnRequest request = BashRequest(
      "stty size > /dev/tty; trap 'echo interrupted; exit 0' INT; echo ready; "
      "until read -t 0.2 word; do :; done",
      output);
  request.stdin_fd = terminal->program.get();
  request.terminal = true;
  ASSERT_TRUE(keeper_->Exec(1, request).ok());
  ASSERT_TRUE(WaitFor<KeeperExecStarted>(*keeper_).has_value());
  EXPECT_EQ(output.ReadLine(), "ready");
  ASSERT_TRUE(WaitReadable(terminal->user.get()));
  char said[100] = {};
  EXPECT_GT(::read(terminal->user.get(), said, sizeof(said) - 1), 0);
  EXPECT_THAT(std::string(said), HasSubstr("33 77"));
  ASSERT_EQ(::write(terminal->user.get(), "\x03", 1), 1);  // Ctrl-C
  EXPECT_EQ(output.ReadLine(), "interrupted");
  EXPECT_TRUE(WaitFor<KeeperExecExited>(*keeper_).has_value());
}

TEST_F(KeeperTest, TellsWhyACommandCannotRun) {
  LinePipe output;
  SpawnRequest request = CommandRequest("exit 0", output);
  EXPECT_TRUE(absl::IsFailedPrecondition(keeper_->Exec(1, request)));
  StartScript("sleep 600");
  request.arguments = {"no-such-command-here"};
  ASSERT_TRUE(keeper_->Exec(1, request).ok());
  const auto failed = WaitFor<KeeperExecFailed>(*keeper_);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->error_number, ENOENT);
  EXPECT_THAT(failed->message, HasSubstr("'no-such-command-here'"));
}

TEST_F(KeeperTest, ACommandIsSignalledHungUpAndKilled) {
  StartScript("sleep 600");
  LinePipe output;
  ASSERT_TRUE(
      keeper_
          ->Exec(1, CommandRequest("trap 'echo told' INT; trap '' HUP TERM; sleep 600 & echo $!; "
                                   "while :; do wait; done",
                                   output))
          .ok());
  ASSERT_TRUE(WaitFor<KeeperExecStarted>(*keeper_).has_value());
  const pid_t child = output.ReadNumber();
  ASSERT_TRUE(keeper_->SignalExec(1, SIGINT).ok());
  EXPECT_EQ(output.ReadLine(), "told");
  ASSERT_TRUE(keeper_->EndExec(1, milliseconds(50)).ok());
  const auto exited = WaitFor<KeeperExecExited>(*keeper_);
  ASSERT_TRUE(exited.has_value());
  EXPECT_EQ(exited->status.signal, SIGKILL);
  EXPECT_TRUE(WaitGone(child));
}

TEST_F(KeeperTest, ACommandEndsWithTheProgram) {
  LinePipe gate;
  SpawnRequest program = BashRequest("read word <&1", output_);
  program.stdout_fd = gate.read_fd();
  ASSERT_TRUE(keeper_->Spawn(program).ok());
  ASSERT_TRUE(WaitFor<KeeperStarted>(*keeper_).has_value());
  LinePipe output;
  SpawnRequest shell = CommandRequest("trap '' TERM; echo up; sleep 600", output);
  shell.leftover_grace = minutes(10);
  ASSERT_TRUE(keeper_->Exec(1, shell).ok());
  ASSERT_TRUE(WaitFor<KeeperExecStarted>(*keeper_).has_value());
  EXPECT_EQ(output.ReadLine(), "up");
  ASSERT_EQ(::write(gate.write_fd(), "go\n", 3), 3);
  EXPECT_TRUE(WaitFor<KeeperExited>(*keeper_).has_value());
  const auto exited = WaitFor<KeeperExecExited>(*keeper_);
  ASSERT_TRUE(exited.has_value());
  EXPECT_EQ(exited->status.signal, SIGHUP);
  ExpectTreeGone();
}

TEST_F(KeeperTest, NamesACommandThatDoesNotExist) {
  SpawnRequest request = BashRequest("", output_);
  request.arguments = {"no-such-command-here"};
  ASSERT_TRUE(keeper_->Spawn(request).ok());
  const auto failed = WaitFor<KeeperSpawnFailed>(*keeper_);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->error_number, ENOENT);
  EXPECT_THAT(failed->message, HasSubstr("'no-such-command-here'"));
  EXPECT_THAT(failed->message, HasSubstr("PATH"));
  StartScript("exit 0");  // a failed start does not occupy the container
}

TEST_F(KeeperTest, AGivenFileIsExecutedWithoutASearch) {
  LinePipe output;
  SpawnRequest request = BashRequest("", output);
  request.arguments = {"shown", "-c", "echo $0"};
  request.program = "/bin/bash";
  ASSERT_TRUE(keeper_->Spawn(request).ok());
  EXPECT_EQ(output.ReadLine(), "shown");
  ASSERT_TRUE(WaitFor<KeeperStarted>(*keeper_));
}

TEST_F(KeeperTest, TheFallbackIsExecutedWhenTheFileCannotBe) {
  LinePipe output;
  SpawnRequest request = BashRequest("echo from bash", output);
  request.fallback = request.arguments;
  request.fallback[0] = "/bin/bash";
  request.arguments = {"tool"};
  request.program = "/dev/null";
  ASSERT_TRUE(keeper_->Spawn(request).ok());
  EXPECT_EQ(output.ReadLine(), "from bash");
  ASSERT_TRUE(WaitFor<KeeperStarted>(*keeper_));
}

TEST_F(KeeperTest, NamesAWorkingFolderThatDoesNotExist) {
  SpawnRequest request = BashRequest("exit 0", output_);
  request.working_folder = "/no/such/folder";
  ASSERT_TRUE(keeper_->Spawn(request).ok());
  const auto failed = WaitFor<KeeperSpawnFailed>(*keeper_);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->error_number, ENOENT);
  EXPECT_THAT(failed->message, HasSubstr("/no/such/folder"));
}

TEST_F(KeeperTest, NamesAProgramThatIsNotExecutable) {
  SpawnRequest request = BashRequest("", output_);
  request.arguments = {"/etc/passwd"};
  ASSERT_TRUE(keeper_->Spawn(request).ok());
  const auto failed = WaitFor<KeeperSpawnFailed>(*keeper_);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->error_number, EACCES);
}

TEST_F(KeeperTest, RefusesWhatCannotBeStarted) {
  SpawnRequest empty = BashRequest("", output_);
  empty.arguments.clear();
  EXPECT_EQ(keeper_->Spawn(empty).code(), absl::StatusCode::kInvalidArgument);
  SpawnRequest nul = BashRequest("", output_);
  nul.environment.push_back(std::string("A=b\0c", 5));
  EXPECT_EQ(keeper_->Spawn(nul).code(), absl::StatusCode::kInvalidArgument);
  SpawnRequest closed = BashRequest("", output_);
  closed.stdout_fd = 9999;
  EXPECT_EQ(keeper_->Spawn(closed).code(), absl::StatusCode::kInvalidArgument);
  StartScript("sleep 600");
  EXPECT_EQ(keeper_->Spawn(BashRequest("exit 0", output_)).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(KeeperTest, GivesTheChildItsOwnSessionAndNoDescriptors) {
  const UniqueFd leak(::dup(STDERR_FILENO));
  StartScript(
      "for ((n = 0; n < 64; ++n)); do [ -e /proc/$$/fd/$n ] && echo -n \"$n \"; done; echo; "
      "readlink /proc/$$/fd/0; cut -d' ' -f6 /proc/$$/stat; "
      "echo $$; pwd");
  EXPECT_EQ(output_.ReadLine(), "0 1 2 ");
  EXPECT_EQ(output_.ReadLine(), "/dev/null");
  const int session = output_.ReadNumber();
  EXPECT_EQ(session, output_.ReadNumber());
  EXPECT_EQ(output_.ReadLine(), "/");
}

TEST_F(KeeperTest, GivesTheChildDefaultSignals) {
  // The owner's own habits must not be seen.
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
  const sighandler_t before = ::signal(SIGPIPE, SIG_IGN);
  auto keeper = Keeper::Start(id_ + "_second");
  ::signal(SIGPIPE, before);
  ::sigprocmask(SIG_UNBLOCK, &blocked, nullptr);
  ASSERT_TRUE(keeper.ok());
  SpawnRequest request = BashRequest("", output_);
  request.arguments = {"grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"};
  ASSERT_TRUE((*keeper)->Spawn(request).ok());
  EXPECT_EQ(output_.ReadLine(), "SigBlk:\t0000000000000000");
  EXPECT_EQ(output_.ReadLine(), "SigIgn:\t0000000000000000");
}

TEST_F(KeeperTest, GivesTheChildItsWholeEnvironmentAndTheContainersId) {
  SpawnRequest request =
      BashRequest("echo ${#LARGE}; echo $TONY_CONTAINER_ID; echo \"$ODD\"", output_);
  // Larger in sum than what a socket takes in one message.
  request.environment.push_back("LARGE=" + std::string(100'000, 'x'));
  for (int i = 0; i < 8; ++i) {
    request.environment.push_back("MORE_" + std::to_string(i) + "=" + std::string(50'000, 'y'));
  }
  request.environment.push_back("TONY_CONTAINER_ID=somebody_else");
  request.environment.push_back("ODD= $HOME 'q' \"d\" = ");
  ASSERT_TRUE(keeper_->Spawn(request).ok());
  ASSERT_TRUE(WaitFor<KeeperStarted>(*keeper_).has_value());
  EXPECT_EQ(output_.ReadNumber(), 100'000);
  EXPECT_EQ(output_.ReadLine(), id_);
  EXPECT_EQ(output_.ReadLine(), " $HOME 'q' \"d\" = ");
}

TEST_F(KeeperTest, KillsWhatIgnoresTermAfterTheGrace) {
  StartScript(
      "trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & echo ready; "
      "while :; do sleep 1; done");
  ASSERT_EQ(output_.ReadLine(), "ready");
  const SystemClock clock;
  const TimePoint before = clock.Now();
  ASSERT_TRUE(keeper_->Kill(milliseconds(100)).ok());
  const auto exited = WaitFor<KeeperExited>(*keeper_);
  ASSERT_TRUE(exited.has_value());
  EXPECT_EQ(exited->status.signal, SIGKILL);
  EXPECT_GE(clock.Now() - before, milliseconds(100));
  ExpectTreeGone();
}

TEST_F(KeeperTest, ASecondKillShortensTheGrace) {
  StartScript("trap '' TERM; echo ready; while :; do sleep 1; done");
  ASSERT_EQ(output_.ReadLine(), "ready");
  ASSERT_TRUE(keeper_->Kill(minutes(10)).ok());
  ASSERT_TRUE(keeper_->Kill(milliseconds(0)).ok());
  ASSERT_TRUE(WaitFor<KeeperExited>(*keeper_).has_value());
  ExpectTreeGone();
}

TEST_F(KeeperTest, KillWhenNothingRunsIsNothing) {
  EXPECT_TRUE(keeper_->Kill(seconds(1)).ok());
  StartScript("exit 0");
  ASSERT_TRUE(WaitFor<KeeperExited>(*keeper_).has_value());
  ExpectTreeGone(0);
}

TEST_F(KeeperTest, LeftoversThatIgnoreTermGetTheirGraceThenAreKilled) {
  SpawnRequest request = BashRequest(
      "(trap '' TERM; echo $BASHPID; while :; do sleep 600; done) & echo $!; sleep 0.01; exit 4",
      output_);
  request.leftover_grace = milliseconds(50);
  ASSERT_TRUE(keeper_->Spawn(request).ok());
  ASSERT_TRUE(WaitFor<KeeperStarted>(*keeper_).has_value());
  const auto exited = WaitFor<KeeperExited>(*keeper_);
  ASSERT_TRUE(exited.has_value());
  EXPECT_EQ(exited->status.code, 4);
  const auto gone = WaitFor<KeeperTreeGone>(*keeper_);
  ASSERT_TRUE(gone.has_value());
  EXPECT_GE(gone->leftovers, 1);
  EXPECT_TRUE(WaitGone(output_.ReadNumber()));
}

TEST_F(KeeperTest, LeavesTheOwnersHelpersAlone) {
  const LinePipe idle;
  const pid_t helper = StartMarked(id_, 1, idle);
  StartScript("exit 0");
  ASSERT_TRUE(WaitFor<KeeperExited>(*keeper_).has_value());
  ExpectTreeGone(0);
  EXPECT_TRUE(IsAlive(helper));
  ::kill(helper, SIGKILL);
  ::waitpid(helper, nullptr, 0);
}

TEST_F(KeeperTest, EndsWhatSomebodyOutsideStartedForTheProgram) {
  const LinePipe idle;
  const TemporaryFolder folder;
  const std::string fifo = folder.path() + "/word";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  StartScript("read word < " + fifo + "; exit 0");
  // Without the subreaper the orphan goes past this process, to whoever is above.
  ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
  const pid_t stray = StartMarked(id_, 2, idle);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  ASSERT_TRUE(IsAlive(stray));
  ASSERT_TRUE((std::ofstream(fifo) << "go\n").good());
  ASSERT_TRUE(WaitFor<KeeperExited>(*keeper_).has_value());
  ExpectTreeGone(1);
  EXPECT_TRUE(WaitGone(stray));
}

TEST_F(KeeperTest, IsDeafToSignalsFromTheStart) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1}) {
    ASSERT_EQ(::kill(keeper_->pid(), number), 0);
  }
  StartScript("exit 0");
  EXPECT_TRUE(WaitFor<KeeperExited>(*keeper_).has_value());
  EXPECT_EQ(ReadProcFile("/proc/" + std::to_string(keeper_->pid()) + "/comm"), "tony-keeper\n");
}

TEST(KeeperStartTest, RefusesAnEmptyId) {
  EXPECT_EQ(Keeper::Start("").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tony::os
