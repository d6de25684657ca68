// Children started and waited for through their descriptor.
#include "os/processes/subprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "common/event_loop.h"
#include "os/processes/run_program.h"
#include "tests/os/process_support.h"

namespace tony::os {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

SubprocessRequest Bash(const std::string& script, const LinePipe& output) {
  return {.arguments = {"bash", "-c", script},
          .stdout_fd = output.write_fd(),
          .stderr_fd = STDERR_FILENO};
}

TEST(SubprocessTest, TellsTheExitCodeThroughItsDescriptor) {
  LinePipe output;
  auto child = Subprocess::Start(Bash("echo $$; read -r; exit 3", output));
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(output.ReadNumber(), child->pid());
  ASSERT_TRUE(WaitReadable(child->pidfd()));
  const auto status = child->TryWait();
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 3);
  EXPECT_EQ(child->TryWait()->code, 3);  // again, though it is reaped
}

TEST(SubprocessTest, ARunningChildHasNoStatusYetAndCanBeSignalled) {
  LinePipe output;
  auto child = Subprocess::Start(Bash("echo ready; exec sleep 600", output));
  ASSERT_TRUE(child.ok());
  ASSERT_EQ(output.ReadLine(), "ready");
  EXPECT_FALSE(child->TryWait().has_value());
  child->Signal(SIGTERM);
  ASSERT_TRUE(WaitReadable(child->pidfd()));
  EXPECT_EQ(child->TryWait()->signal, SIGTERM);
  child->Signal(SIGTERM);  // of no effect, whoever has the number now
}

TEST(SubprocessTest, TheEventLoopSeesTheExit) {
  LinePipe output;
  auto child = Subprocess::Start(Bash("exit 5", output));
  ASSERT_TRUE(child.ok());
  EventLoop loop;
  int code = -1;
  const auto patience = loop.After(milliseconds(kPatienceMillis), [&] { loop.Stop(); });
  const auto watch = loop.WatchReadable(child->pidfd(), [&] {
    if (const auto status = child->TryWait()) code = status->code;
    loop.Stop();
  });
  loop.Run();
  EXPECT_EQ(code, 5);
}

TEST(SubprocessTest, GivesEnvironmentFolderSessionAndDescriptors) {
  LinePipe output, third, fourth;
  SubprocessRequest request = Bash(
      "echo \"$A\" \"${HOME-no home}\"; pwd; for ((n = 0; n < 64; ++n)); do [ -e /proc/$$/fd/$n ] "
      "&& echo -n \"$n \"; done; echo; "
      "cut -d' ' -f6 /proc/$$/stat; echo three >&3; echo four >&4",
      output);
  request.environment = {"A=b c", "PATH=/usr/bin:/bin"};
  request.working_folder = "/proc";
  // Numbers that collide with the targets when they are not put aside first.
  request.inherited_fds = {third.write_fd(), fourth.write_fd()};
  auto child = Subprocess::Start(request);
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(output.ReadLine(), "b c no home");
  EXPECT_EQ(output.ReadLine(), "/proc");
  EXPECT_EQ(output.ReadLine(), "0 1 2 3 4 ");
  EXPECT_EQ(output.ReadNumber(), child->pid());
  EXPECT_EQ(third.ReadLine(), "three");
  EXPECT_EQ(fourth.ReadLine(), "four");
  ASSERT_TRUE(WaitReadable(child->pidfd()));
  EXPECT_TRUE(child->TryWait()->ok());
}

TEST(SubprocessTest, DescriptorsMayBeGivenInReverse) {
  LinePipe output;
  LinePipe low, high;
  SubprocessRequest request = Bash("echo a >&3; echo b >&4", output);
  request.inherited_fds = {high.write_fd(), low.write_fd()};
  auto child = Subprocess::Start(request);
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(high.ReadLine(), "a");
  EXPECT_EQ(low.ReadLine(), "b");
  WaitReadable(child->pidfd());
  child->TryWait();
}

TEST(SubprocessTest, SaysWhyItCannotStart) {
  const auto code = [](SubprocessRequest request) {
    return Subprocess::Start(request).status().code();
  };
  EXPECT_EQ(code({}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.arguments = {"/no/such/program"}}), absl::StatusCode::kNotFound);
  EXPECT_EQ(code({.arguments = {"/etc/passwd"}}), absl::StatusCode::kPermissionDenied);
  const auto folder = Subprocess::Start({.arguments = {"true"}, .working_folder = "/no/folder"});
  EXPECT_EQ(folder.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(folder.status().message()), HasSubstr("/no/folder"));
}

TEST(SubprocessTest, StartsFromSeveralThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::vector<int> codes(4, -1);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i, &codes] {
      LinePipe output;
      auto child = Subprocess::Start(Bash("exit " + std::to_string(i), output));
      if (child.ok() && WaitReadable(child->pidfd())) codes[i] = child->TryWait()->code;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(codes, testing::ElementsAre(0, 1, 2, 3));
}

TEST(RunProgramTest, CollectsBothOutputs) {
  const auto program = RunWithDeadline({"sh", "-c", "echo out; echo err >&2; exit 2"}, seconds(20));
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(program->standard_output, "out\n");
  EXPECT_EQ(program->standard_error, "err\n");
  EXPECT_EQ(program->status.code, 2);
}

TEST(RunProgramTest, DropsWhatIsTooMuchWithoutBlockingTheProgram) {
  const auto program =
      RunWithDeadline({"sh", "-c", "head -c 3000000 /dev/zero; exit 0"}, seconds(20));
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(program->standard_output.size(), 1u << 20);
  EXPECT_TRUE(program->status.ok());
}

TEST(RunProgramTest, KillsTheWholeSessionAtTheDeadline) {
  char name[] = "/tmp/run_program_test.XXXXXX";
  const UniqueFd file(::mkstemp(name));
  const auto program = RunWithDeadline(
      {"bash", "-c", "sleep 600 & echo $! > " + std::string(name) + "; wait"}, seconds(3));
  EXPECT_EQ(program.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(program.status().message()), HasSubstr("3000 ms"));
  char text[32] = {};
  ASSERT_GT(::pread(file.get(), text, sizeof(text) - 1, 0), 0);
  EXPECT_TRUE(WaitGone(std::atoi(text)));
  ::unlink(name);
}

TEST(RunProgramTest, ProgramThatIsNotThere) {
  EXPECT_EQ(RunWithDeadline({"/no/program"}, seconds(1)).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tony::os
