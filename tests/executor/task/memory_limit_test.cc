// A program that uses more memory than its container has, in each way of containment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/task/memory_watch.h"
#include "executor/task/task_process.h"
#include "os/machine/resident_memory.h"
#include "tests/executor/ready_pipe.h"
#include "tests/os/process_support.h"
#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

using core::TaskExit;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr int64_t kMebibyte = int64_t{1} << 20;

/// Not thread safe.
class MemoryLimitTest : public ::testing::TestWithParam<const char*> {
 protected:
  // Runs `script` to the end of its tree with a limit of 64 MiB.
  TaskExit Run(const std::string& script) {
    TaskExit told;
    bool gone = false;
    TaskProcess process(driver_.loop(), *keeper_,
                        {[](pid_t) {}, [&](TaskExit exit) { told = std::move(exit); },
                         [&] {
                           gone = true;
                           driver_.Changed();
                         },
                         [](const std::string& why) { ADD_FAILURE() << why; }});
    TaskProcess::Command command;
    command.shell_command = script;
    command.environment = {"PATH=/usr/local/bin:/usr/bin:/bin"};
    command.working_folder = folder_.path();
    command.log_prefix = folder_ / "logs/";
    command.kill_grace = milliseconds(200);
    command.memory_limit_bytes = 64 * kMebibyte;
    command.memory_key = "tony.worker.memory";
    process.Run(command);
    EXPECT_TRUE(driver_.Await([&] { return gone; }));
    return told;
  }

  void SetUp() override {
    if (keeper_->containment_name().empty()) GTEST_SKIP() << Run("exit 0").message;
  }

  os::TemporaryFolder folder_;
  LoopDriver driver_;
  std::unique_ptr<os::Keeper> keeper_ =
      os::Keeper::Start(
          absl::StrCat("memory_limit_test_", ::getpid()),
          {.way = *os::ParseContainmentWay(GetParam()), .memory_bytes = 64 * kMebibyte})
          .value();
};

// `tail` keeps all that it is asked for in its memory, and waits with it for the end of its input.
constexpr char kGreedy[] =
    "tail -c 200000000 < <(head -c 200000000 /dev/zero | tr '\\0' x; sleep 600)";

TEST_P(MemoryLimitTest, TheEndNamesPeakLimitAndKey) {
  const TaskExit exit = Run(absl::StrCat("exec ", kGreedy));
  EXPECT_EQ(exit.cause, TaskExit::Cause::kOutOfMemory);
  EXPECT_FALSE(exit.ok());
  EXPECT_THAT(
      exit.Describe(),
      MatchesRegex("used more memory than its container has: peak [0-9.]+ MiB, limit 64 MiB "
                   "\\(tony.worker.memory\\)"));
}

TEST_P(MemoryLimitTest, AShellThatPassesOnTheEndIsNoOtherEnd) {
  const TaskExit exit = Run(absl::StrCat(kGreedy, "; exit $?"));
  EXPECT_EQ(exit.cause, TaskExit::Cause::kOutOfMemory) << exit.Describe();
}

TEST_P(MemoryLimitTest, AProgramWithinItsLimitIsLeftAlone) {
  const TaskExit exit = Run(
      "head -c 20000000 /dev/zero | tr '\\0' x | tail -c 20000000 > /dev/null; sleep 0.3; exit 0");
  EXPECT_TRUE(exit.ok()) << exit.Describe();
  EXPECT_EQ(exit.message, "");
}

TEST_P(MemoryLimitTest, TheNextRunIsJudgedByItself) {
  Run(absl::StrCat("exec ", kGreedy));
  const TaskExit exit = Run("kill -9 $$");
  EXPECT_EQ(exit.cause, TaskExit::Cause::kSignaled);
  EXPECT_EQ(exit.signal, SIGKILL);
}

TEST_P(MemoryLimitTest, AProgramThatGoesOnWithoutItsChildIsTold) {
  if (!keeper_->limits_memory()) {
    GTEST_SKIP() << "only the kernel's memory controller ends a single process";
  }
  const TaskExit exit = Run(absl::StrCat(kGreedy, " > /dev/null; exit 3"));
  if (exit.cause == TaskExit::Cause::kOutOfMemory) GTEST_SKIP() << "version 2 ends all of them";
  EXPECT_EQ(exit.code, 3);
  EXPECT_THAT(exit.message, HasSubstr(" that it had started w"));
  EXPECT_THAT(exit.message, HasSubstr("limit 64 MiB (tony.worker.memory)"));
}

INSTANTIATE_TEST_SUITE_P(Ways, MemoryLimitTest,
                         ::testing::Values("cgroup", "namespace", "process-tree"),
                         [](const ::testing::TestParamInfo<const char*>& way) {
                           std::string name = way.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(ContainmentRefusalTest, AWayThatDoesNotWorkEndsTheTaskWithTheReason) {
  os::TemporaryFolder folder;
  LoopDriver driver;
  auto keeper = os::Keeper::Start("refusal_test", {.way = os::ContainmentWay::kCgroup}).value();
  if (!keeper->containment_name().empty()) GTEST_SKIP() << "control groups can be written here";
  TaskExit told;
  TaskProcess process(driver.loop(), *keeper,
                      {[](pid_t) {}, [&](TaskExit exit) { told = std::move(exit); }, [] {},
                       [](const std::string&) {}});
  TaskProcess::Command command;
  command.shell_command = "exit 0";
  command.working_folder = folder.path();
  command.log_prefix = folder / "logs/";
  process.Run(command);
  EXPECT_EQ(told.cause, TaskExit::Cause::kNotStarted);
  EXPECT_THAT(told.message, HasSubstr("the containment 'cgroup' does not work here: "));
  EXPECT_THAT(told.message, HasSubstr("tony.task.containment"));
}

TEST(MemoryWatchTest, PagesThatProcessesShareCountOnce) {
  // Eight processes with the same 16 MiB: resident 128 MiB and more.
  const std::vector<char> shared(16 * kMebibyte, 'x');
  std::vector<pid_t> processes;
  const os::LinePipe idle;
  for (int i = 0; i < 8; ++i) {
    processes.push_back(os::ForkChild([&] {
      char byte;
      (void)!::read(idle.read_fd(), &byte, 1);
    }));
  }
  EXPECT_GE(os::ResidentBytes(processes), 128 * kMebibyte);
  EXPECT_LT(os::ProportionalBytes(processes), 100 * kMebibyte);
  LoopDriver driver;
  int looks = 0;
  const MemoryWatch watch(
      driver.loop(), 100 * kMebibyte,
      [&] {
        ++looks;
        driver.Changed();
        return processes;
      },
      [](int64_t bytes) { ADD_FAILURE() << bytes; });
  EXPECT_TRUE(driver.Await([&] { return looks == 3; }));
  for (const pid_t pid : processes) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

}  // namespace
}  // namespace tony::executor
