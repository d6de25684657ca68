// One run of a program through a real keeper: how each kind of end is told.
#include "executor/task/task_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "tests/executor/ready_pipe.h"
#include "tests/os/files/file_size_limit.h"
#include "tests/os/process_support.h"
#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

using core::TaskExit;
using std::chrono::milliseconds;
using std::chrono::minutes;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TaskProcessTest : public ::testing::Test {
 protected:
  TaskProcess::Command Bash(const std::string& script) const {
    TaskProcess::Command command;
    command.shell_command = script;
    command.environment = {"PATH=/usr/local/bin:/usr/bin:/bin",
                           absl::StrCat("READY=", ready_.path())};
    command.working_folder = folder_.path();
    command.log_prefix = logs_ + "/";
    command.kill_grace = milliseconds(200);
    return command;
  }
  bool AwaitTreeGone(int count = 1) {
    return driver_.Await([&] { return trees_gone_ >= count; });
  }
  // Runs it to the end of its tree.
  TaskExit RunToEnd(const TaskProcess::Command& command) {
    const int before = trees_gone_;
    process_.Run(command);
    EXPECT_TRUE(AwaitTreeGone(before + 1));
    EXPECT_FALSE(process_.active());
    return exit_;
  }
  TaskExit RunToEnd(const std::string& script) { return RunToEnd(Bash(script)); }

  void Happened(const std::string& what) {
    events_.push_back(what);
    driver_.Changed();
  }

  std::unique_ptr<os::Keeper> keeper_ =
      os::Keeper::Start(absl::StrCat("task_process_test_", ::getpid()),
                        {.way = os::ContainmentWay::kProcessTree})
          .value();
  os::TemporaryFolder folder_;
  const std::string logs_ = folder_ / "logs/attempt-1";
  LoopDriver driver_;
  ReadyPipe ready_{driver_, folder_ / "ready"};
  std::vector<std::string> events_;
  pid_t pid_ = 0;
  TaskExit exit_;
  int trees_gone_ = 0;
  std::vector<std::string> losses_;
  std::function<void()> when_ended_ = [] {};
  using End = std::function<void(const std::string& note)>;
  std::function<void(const End& end)> before_timeout_ = [](const End& end) { end(""); };
  TaskProcess process_{
      driver_.loop(),
      *keeper_,
      {[this](pid_t pid) {
         pid_ = pid;
         Happened("started");
       },
       [this](TaskExit exit) {
         exit_ = std::move(exit);
         when_ended_();
         Happened("ended");
       },
       [this] {
         ++trees_gone_;
         Happened("tree gone");
       },
       [this](std::string why) { Happened("keeper lost: " + why); },
       [this](const std::string& sentence) { losses_.push_back(sentence); },
       [](const os::KeeperEvent&) {}, [this](const End& end) { before_timeout_(end); }}};
};

TEST_F(TaskProcessTest, CountsWhatARunPrints) {
  EXPECT_TRUE(RunToEnd("echo hello; echo four >&2").ok());
  EXPECT_EQ(process_.printed_bytes(), 11);
  EXPECT_TRUE(RunToEnd("head -c 3000000 /dev/zero").ok());
  EXPECT_EQ(process_.printed_bytes(), 3'000'000);
  EXPECT_TRUE(RunToEnd("true").ok());
  EXPECT_EQ(process_.printed_bytes(), 0);
}

TEST_F(TaskProcessTest, TellsStartEndAndThatTheTreeIsGone) {
  const TaskExit exit = RunToEnd("echo out; echo error >&2; exit 7");
  EXPECT_THAT(events_, ElementsAre("started", "ended", "tree gone"));
  EXPECT_GT(pid_, 0);
  EXPECT_EQ(exit.cause, TaskExit::Cause::kExited);
  EXPECT_EQ(exit.code, 7);
  EXPECT_EQ(exit.message, "");
  EXPECT_THAT(exit.tail, ::testing::UnorderedElementsAre("out", "error"));
  EXPECT_EQ(os::Contents(logs_ + "/stdout.log"), "out\n");
  EXPECT_EQ(os::Contents(logs_ + "/stderr.log"), "error\n");
  EXPECT_EQ(os::ModeOf(logs_ + "/stdout.log"), 0600u);
}

TEST_F(TaskProcessTest, RunsAgainWhenTheTreeIsGone) {
  for (int attempt = 1; attempt <= 3; ++attempt) {
    TaskProcess::Command command = Bash(absl::StrCat("echo ", attempt, "; exit ", attempt));
    command.log_prefix = absl::StrCat(folder_ / "logs/attempt-", attempt, "/");
    const TaskExit exit = RunToEnd(command);
    EXPECT_EQ(exit.code, attempt);
    EXPECT_THAT(exit.tail, ElementsAre(absl::StrCat(attempt)));
    EXPECT_EQ(os::Contents(command.log_prefix + "stdout.log"), absl::StrCat(attempt, "\n"));
  }
  EXPECT_EQ(events_.size(), 9u);
}

TEST_F(TaskProcessTest, ALackOfDescriptorsIsNotTheProgramsFault) {
  rlimit limit{};
  ASSERT_EQ(::prlimit(keeper_->pid(), RLIMIT_NOFILE, nullptr, &limit), 0);
  int ended = 0;
  for (limit.rlim_cur = 5; limit.rlim_cur < 20; ++limit.rlim_cur) {
    ASSERT_EQ(::prlimit(keeper_->pid(), RLIMIT_NOFILE, &limit, nullptr), 0);
    TaskProcess::Command command = Bash("exit 0");
    command.log_prefix = absl::StrCat(folder_ / "logs/attempt-", limit.rlim_cur, "/");
    const TaskExit exit = RunToEnd(command);
    if (exit.ok()) {
      ++ended;
    } else {
      EXPECT_EQ(exit.cause, TaskExit::Cause::kLost) << limit.rlim_cur;
      EXPECT_THAT(exit.message, HasSubstr("no room to start it"));
      EXPECT_EQ(ended, 0) << "a higher limit is worse";
    }
  }
  EXPECT_GT(ended, 0);
  EXPECT_LT(ended, 15);
}

TEST_F(TaskProcessTest, AKeeperThatWasKilledBeforeTheStartIsNotTheProgramsFault) {
  ASSERT_EQ(::kill(keeper_->pid(), SIGKILL), 0);
  ASSERT_TRUE(os::WaitGone(keeper_->pid()));
  const TaskExit exit = RunToEnd("exit 0");
  EXPECT_EQ(exit.cause, TaskExit::Cause::kLost);
  EXPECT_THAT(exit.message, HasSubstr("keeper of this container"));
}

TEST_F(TaskProcessTest, TellsTheSignalThatEndedTheProgram) {
  const TaskExit exit = RunToEnd("kill -SEGV $$");
  EXPECT_EQ(exit.cause, TaskExit::Cause::kSignaled);
  EXPECT_EQ(exit.signal, SIGSEGV);
  EXPECT_FALSE(exit.ok());
}

TEST_F(TaskProcessTest, TellsWhenTheProgramEnded) {
  const SystemClock clock;
  const int64_t before = clock.UnixMillis();
  const TaskExit exit = RunToEnd("exit 1");
  EXPECT_GE(exit.host_millis, before);
  EXPECT_LE(exit.host_millis, clock.UnixMillis());
}

TEST_F(TaskProcessTest, SaysThatACommandWasNotFound) {
  const TaskExit exit = RunToEnd("no-such-command --x");
  EXPECT_EQ(exit.code, 127);
  EXPECT_EQ(exit.message, "the command was not found");
  ASSERT_EQ(exit.tail.size(), 1u);
  EXPECT_THAT(exit.tail[0], HasSubstr("no-such-command"));
}

TEST_F(TaskProcessTest, SaysThatACommandIsNotExecutable) {
  const TaskExit exit = RunToEnd("/etc/passwd");
  EXPECT_EQ(exit.code, 126);
  EXPECT_EQ(exit.message, "the command is not executable");
}

TEST_F(TaskProcessTest, SaysWhatToDoWhenAnAddressIsInUse) {
  const TaskExit exit = RunToEnd("echo 'OSError: [Errno 98] Address already in use' >&2; exit 1");
  EXPECT_THAT(exit.message, HasSubstr("port-release"));
}

TEST_F(TaskProcessTest, ComparesThePortInUseWithTheReservedOnes) {
  TaskProcess::Command command = Bash(
      "echo '2026 RuntimeError: failed to bind to [::]:18999 (errno: 98 - Address already in "
      "use).' >&2; exit 1");
  command.reserved_ports = {27741, 27742};
  EXPECT_EQ(RunToEnd(command).message,
            "port 18999 is not the one that tony reserved for the task (27741, 27742); another "
            "process has it");
  command.reserved_ports = {18999};
  EXPECT_EQ(RunToEnd(command).message,
            "the task's reserved port was in use: its server sets neither SO_REUSEADDR nor "
            "SO_REUSEPORT: set tony.<type>.port-release=true");
}

TEST_F(TaskProcessTest, SaysWhichFrameworkSetsTheVariablesOfARendezvous) {
  const auto said = [this](const std::string& framework, const std::string& line) {
    TaskProcess::Command command = Bash(absl::StrCat("echo \"", line, "\" >&2; exit 1"));
    command.framework = framework;
    return RunToEnd(command).message;
  };
  const std::string hint =
      "PyTorch looks for variables that only PyTorch jobs have, and this is a tensorflow job: set "
      "tony.application.framework to pytorch";
  for (const std::string name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    const std::string line =
        absl::StrCat("ValueError: Error initializing torch.distributed using ",
                     "env:// rendezvous: environment variable ", name, " expected, but not set");
    EXPECT_EQ(said("tensorflow", line), hint);
    EXPECT_EQ(said("pytorch", line), "");
  }
  EXPECT_EQ(said("tensorflow", "KeyError: 'LOCAL_RANK'"), hint);
  EXPECT_EQ(said("tensorflow", "KeyError: 'rank'"), "");
  EXPECT_EQ(said("tensorflow", "environment variable HOME expected, but not set"), "");
}

TEST_F(TaskProcessTest, SaysWhichPythonLacksAModule) {
  std::filesystem::create_directory(folder_ / "bin");
  os::Put(folder_ / "bin/python3",
          "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'torch.nn'\" >&2\nexit 1\n");
  ASSERT_EQ(::chmod((folder_ / "bin/python3").c_str(), 0755), 0);
  const auto said = [this](const std::string& line, const std::string& folder) {
    TaskProcess::Command command = Bash(line);
    command.environment[0] = absl::StrCat("PATH=", folder_ / "bin", ":/usr/bin:/bin");
    command.working_folder = folder;
    return RunToEnd(command).message;
  };
  EXPECT_EQ(said("python3 train.py", "/"),
            absl::StrCat("python3 is ", folder_ / "bin/python3",
                         "; is torch installed there? --python_venv gives the tasks an "
                         "environment"));
  EXPECT_EQ(said("A=1 python3 train.py", folder_.path()),
            "python3 is bin/python3; is torch installed there? --python_venv names another "
            "environment");
  // Whoever names the interpreter knows it, and what a script starts is not known here.
  EXPECT_EQ(said(folder_ / "bin/python3", "/"), "");
  EXPECT_EQ(said("sh -c 'python3 train.py'", "/"), "");
}

TEST_F(TaskProcessTest, ASpawnThatFailsIsAnEndWithoutAStart) {
  TaskProcess::Command command = Bash("exit 0");
  command.working_folder = "/no/such/folder";
  const TaskExit exit = RunToEnd(command);
  EXPECT_EQ(exit.cause, TaskExit::Cause::kNotStarted);
  EXPECT_THAT(exit.message, HasSubstr("/no/such/folder"));
  EXPECT_THAT(events_, ElementsAre("ended", "tree gone"));
  EXPECT_EQ(RunToEnd("exit 0").code, 0);
}

TEST_F(TaskProcessTest, LogsThatCannotBeMadeAreAnEndWithoutAStart) {
  os::Put(folder_ / "logs", "a file in the way");
  const TaskExit exit = RunToEnd("exit 0");
  EXPECT_EQ(exit.cause, TaskExit::Cause::kNotStarted);
  EXPECT_THAT(exit.message, HasSubstr(folder_ / "logs"));
  EXPECT_THAT(events_, ElementsAre("ended", "tree gone"));
}

TEST_F(TaskProcessTest, OutputThatCannotBeKeptIsToldAndStopsNothing) {
  // The keeper, and so the program, has no limit; what starts the program fits into it.
  const os::FileSizeLimit full(100'000);
  const TaskExit exit = RunToEnd("head -c 3000000 /dev/zero; echo; echo password=x; exit 7");
  EXPECT_EQ(exit.code, 7);
  EXPECT_EQ(exit.tail.back(), "password=[redacted]");
  ASSERT_EQ(losses_.size(), 2u);
  EXPECT_THAT(losses_[0], HasSubstr("File too large"));
  EXPECT_THAT(losses_[1], HasSubstr("2900021 bytes of output were lost"));
}

TEST_F(TaskProcessTest, TakesCommandAndEnvironmentAsTheyAre) {
  TaskProcess::Command command = Bash("printf '%s|' \"$ODD\" 'a  b' \"q'q\" \\$HOME");
  command.environment.push_back("ODD= $HOME 'q' \"d\" \\ *");
  RunToEnd(command);
  EXPECT_EQ(os::Contents(logs_ + "/stdout.log"), " $HOME 'q' \"d\" \\ *|a  b|q'q|$HOME|");
}

TEST_F(TaskProcessTest, KeepsTheLastLinesAndAllBytes) {
  TaskProcess::Command command =
      Bash("for ((i = 0; i < 1000; ++i)); do echo line $i; done; printf 'caf\\xe9\\n\\xff'");
  command.tail_lines = 3;
  const TaskExit exit = RunToEnd(command);
  EXPECT_THAT(exit.tail, ElementsAre("line 999", "caf\xE9", "\xFF"));
  EXPECT_THAT(os::Contents(logs_ + "/stdout.log"), ::testing::EndsWith("line 999\ncaf\xE9\n\xFF"));
}

TEST_F(TaskProcessTest, EndsWhatRunsTooLong) {
  TaskProcess::Command command = Bash("echo here; sleep 600");
  command.timeout = milliseconds(100);
  const TaskExit exit = RunToEnd(command);
  EXPECT_EQ(exit.cause, TaskExit::Cause::kTimedOut);
  EXPECT_THAT(exit.message, HasSubstr("execution-timeout"));
  EXPECT_THAT(events_, ElementsAre("started", "ended", "tree gone"));
}

TEST_F(TaskProcessTest, WaitsBeforeItEndsWhatRunsTooLong) {
  End end;
  before_timeout_ = [&](const End& given) {
    end = given;
    Happened("too long");
  };
  TaskProcess::Command command = Bash("sleep 600");
  command.timeout = milliseconds(100);
  process_.Run(command);
  ASSERT_TRUE(driver_.Await([&] { return end != nullptr; }));
  EXPECT_TRUE(process_.active());
  end("it was in load_batch");
  ASSERT_TRUE(AwaitTreeGone());
  EXPECT_EQ(exit_.cause, TaskExit::Cause::kTimedOut);
  EXPECT_THAT(exit_.message, HasSubstr("has passed; it was in load_batch"));
  EXPECT_THAT(events_, ElementsAre("started", "too long", "ended", "tree gone"));
}

TEST_F(TaskProcessTest, ALateEndOfATimeOutTouchesNoOtherRun) {
  End end;
  before_timeout_ = [&](const End& given) {
    end = given;
    driver_.Changed();
  };
  TaskProcess::Command command = Bash("read < $READY.gate; exit 3");
  ASSERT_EQ(::mkfifo((ready_.path() + ".gate").c_str(), 0600), 0);
  command.timeout = milliseconds(100);
  process_.Run(command);
  ASSERT_TRUE(driver_.Await([&] { return end != nullptr; }));
  std::ofstream(ready_.path() + ".gate") << "go\n";  // it ends by itself meanwhile
  ASSERT_TRUE(AwaitTreeGone());
  EXPECT_EQ(exit_.cause, TaskExit::Cause::kExited);
  EXPECT_EQ(exit_.code, 3);
  process_.Run(Bash("echo here > $READY; sleep 600"));
  ASSERT_EQ(ready_.NextLine(), "here");
  end("late");
  EXPECT_EQ(exit_.code, 3);
  process_.Kill(milliseconds(0));
  ASSERT_TRUE(AwaitTreeGone(2));
  EXPECT_EQ(exit_.cause, TaskExit::Cause::kStopped);
}

TEST_F(TaskProcessTest, AProgramThatIsInTimeIsNotTouchedLater) {
  TaskProcess::Command command = Bash("exit 0");
  command.timeout = milliseconds(2000);  // enough to start and to end
  EXPECT_TRUE(RunToEnd(command).ok());
  // The first run's time passes within the second.
  EXPECT_TRUE(RunToEnd("sleep 2.2").ok());
}

TEST_F(TaskProcessTest, AKillGivesTheProgramItsGrace) {
  process_.Run(
      Bash("trap 'echo asked; exit 3' TERM; echo up > $READY; while :; do sleep 0.01; done"));
  ASSERT_EQ(ready_.NextLine(), "up");
  process_.Kill(minutes(10));
  ASSERT_TRUE(AwaitTreeGone());
  EXPECT_EQ(exit_.cause, TaskExit::Cause::kStopped);
  EXPECT_EQ(exit_.code, 3);
  EXPECT_THAT(exit_.tail, Contains("asked"));
}

TEST_F(TaskProcessTest, AProgramThatSucceedsWhenItIsAskedToEndHasSucceeded) {
  process_.Run(
      Bash("trap 'echo saved; exit 0' TERM; echo up > $READY; while :; do sleep 0.01; done"));
  ASSERT_EQ(ready_.NextLine(), "up");
  process_.Kill(minutes(10));
  ASSERT_TRUE(AwaitTreeGone());
  EXPECT_TRUE(exit_.ok());
}

TEST_F(TaskProcessTest, AKillEndsWhatIgnoresSigterm) {
  process_.Run(Bash("trap '' TERM; echo up > $READY; while :; do sleep 1; done"));
  ASSERT_EQ(ready_.NextLine(), "up");
  process_.Kill(milliseconds(50));
  ASSERT_TRUE(AwaitTreeGone());
  EXPECT_EQ(exit_.cause, TaskExit::Cause::kStopped);
  EXPECT_EQ(exit_.signal, SIGKILL);
}

TEST_F(TaskProcessTest, AKillOfNothingIsAnsweredAtOnce) {
  process_.Kill(minutes(10));
  EXPECT_THAT(events_, ElementsAre("tree gone"));
}

TEST_F(TaskProcessTest, AProgramMayCloseItsOutputAndGoOn) {
  process_.Run(Bash("echo before; exec >&- 2>&-; echo closed > $READY; sleep 0.05; exit 5"));
  ASSERT_EQ(ready_.NextLine(), "closed");
  ASSERT_TRUE(AwaitTreeGone());
  EXPECT_EQ(exit_.code, 5);
  EXPECT_THAT(exit_.tail, ElementsAre("before"));
}

TEST_F(TaskProcessTest, WhatOutlivesTheProgramIsEndedAndItsOutputKept) {
  process_.Run(
      Bash("setsid bash -c 'trap \"echo leaving; exit\" TERM; echo $$ > $READY; "
           "while :; do sleep 0.01; done' & "
           "while [ ! -e go ]; do sleep 0.01; done; exit 4"));
  const pid_t daemon = ready_.NextPid();
  ASSERT_GT(daemon, 0);
  os::Put(folder_ / "go", "");
  ASSERT_TRUE(AwaitTreeGone());
  EXPECT_EQ(exit_.code, 4);
  EXPECT_FALSE(os::IsAlive(daemon));
  EXPECT_EQ(os::Contents(logs_ + "/stdout.log"), "leaving\n");
}

TEST_F(TaskProcessTest, TheEndIsToldAlthoughALeftoverWritesForEver) {
  TaskProcess::Command command = Bash(
      "(trap '' TERM; echo $BASHPID > $READY; exec yes) & "
      "while [ ! -e go ]; do sleep 0.01; done; exit 4");
  command.kill_grace = minutes(10);
  pid_t flood = 0;
  bool alive_at_the_end = false;
  when_ended_ = [&] { alive_at_the_end = os::IsAlive(flood); };
  process_.Run(command);
  flood = ready_.NextPid();
  ASSERT_GT(flood, 0);
  os::Put(folder_ / "go", "");
  ASSERT_TRUE(driver_.Await([&] { return !events_.empty() && events_.back() == "ended"; }));
  EXPECT_TRUE(alive_at_the_end);
  EXPECT_EQ(exit_.code, 4);
  process_.Kill(milliseconds(0));
  ASSERT_TRUE(AwaitTreeGone());
  EXPECT_FALSE(os::IsAlive(flood));
}

TEST_F(TaskProcessTest, TheLossOfTheKeeperIsAnEnd) {
  process_.Run(Bash("echo last words; echo $$ > $READY; sleep 600"));
  const pid_t program = ready_.NextPid();
  ASSERT_GT(program, 0);
  ASSERT_TRUE(driver_.Await(
      [&] { return events_.size() == 1; }));  // the keeper says so later than the program
  ASSERT_EQ(::kill(keeper_->pid(), SIGKILL), 0);
  ASSERT_TRUE(driver_.Await([&] { return events_.size() >= 3; }));
  EXPECT_EQ(events_[1], "ended");
  EXPECT_THAT(events_[2], HasSubstr("keeper lost: the keeper of the process tree was killed"));
  EXPECT_EQ(exit_.cause, TaskExit::Cause::kLost);
  EXPECT_THAT(exit_.tail, ElementsAre("last words"));
  EXPECT_FALSE(process_.active());
  EXPECT_FALSE(os::IsAlive(program)) << os::DescribeTree(program);
}

TEST_F(TaskProcessTest, TheLossOfAnIdleKeeperEndsNoRun) {
  EXPECT_TRUE(RunToEnd("exit 0").ok());
  events_.clear();
  ASSERT_EQ(::kill(keeper_->pid(), SIGKILL), 0);
  ASSERT_TRUE(driver_.Await([&] { return !events_.empty(); }));
  EXPECT_THAT(events_, ElementsAre(HasSubstr("keeper lost")));
}

TEST_F(TaskProcessTest, TheLossOfAKeeperBeforeAnyRunEndsNone) {
  ASSERT_EQ(::kill(keeper_->pid(), SIGKILL), 0);
  ASSERT_TRUE(driver_.Await([&] { return !events_.empty(); }));
  EXPECT_THAT(events_, ElementsAre(HasSubstr("keeper lost")));
  const TaskExit exit = RunToEnd("exit 0");
  EXPECT_EQ(exit.cause, TaskExit::Cause::kLost);
}

}  // namespace
}  // namespace tony::executor
