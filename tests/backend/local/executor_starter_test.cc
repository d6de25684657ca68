// With a real tony-executor, which ends at once for want of flags, and with a fork server that is
// killed.
#include "backend/local/executor_starter.h"

#include <signal.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "os/files/proc_file.h"
#include "os/processes/process_tree.h"
#include "tests/os/process_support.h"
#include "tests/support/tree/source_tree.h"

namespace tony::backend {
namespace {

const std::string kProgram = BuiltProgram("tony-executor");
constexpr int kBadUsage = 2;

// Its exit code; -1 when it could not be started or did not end.
int CodeOf(ExecutorStarter& starter, const os::LinePipe& errors) {
  auto started = starter.Start({.arguments = {kProgram, "--nonsense"},
                                .environment = std::vector<std::string>{"A=1"},
                                .working_folder = "/",
                                .stderr_fd = errors.write_fd()});
  EXPECT_TRUE(started.ok()) << started.status();
  if (!started.ok() || !os::WaitReadable(started->pidfd())) return -1;
  return started->TryWait()->code;
}

// The child of this process that is the fork server of `job_id`; 0 when there is none, or when it
// is not yet at its main().
pid_t ServerOf(const std::string& job_id) {
  for (const pid_t child : os::Descendants(::getpid())) {
    const std::string line = os::ReadProcFile("/proc/" + std::to_string(child) + "/cmdline");
    if (line.find("--fork-server") != std::string::npos && line.find(job_id) != std::string::npos)
      return child;
  }
  return 0;
}

TEST(ExecutorStarterTest, OneExecutorNeedsNoServer) {
  os::LinePipe errors;
  ExecutorStarter starter(kProgram, "job-one", 1);
  EXPECT_EQ(ServerOf("job-one"), 0);
  EXPECT_EQ(CodeOf(starter, errors), kBadUsage);
  EXPECT_THAT(errors.ReadLine().value_or(""), testing::HasSubstr("--nonsense"));
}

TEST(ExecutorStarterTest, SeveralAreForkedAlsoAfterTheServerWasKilled) {
  os::LinePipe errors;
  ExecutorStarter starter(kProgram, "job-two", 2);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(CodeOf(starter, errors), kBadUsage);
    EXPECT_THAT(errors.ReadLine().value_or(""), testing::HasSubstr("--nonsense"));
    if (round > 0) continue;
    const pid_t server = ServerOf("job-two");
    ASSERT_NE(server, 0);
    ::kill(server, SIGKILL);
    ASSERT_TRUE(os::WaitGone(server));
  }
  EXPECT_EQ(ServerOf("job-two"), 0);
}

TEST(ExecutorStarterTest, TheServerEndsWithIt) {
  os::LinePipe errors;
  pid_t server = 0;
  {
    ExecutorStarter starter(kProgram, "job-three", 64);
    EXPECT_EQ(CodeOf(starter, errors), kBadUsage);
    server = ServerOf("job-three");
    ASSERT_NE(server, 0);
  }
  EXPECT_TRUE(os::WaitGone(server));
}

TEST(ExecutorStarterTest, AProgramThatIsMissingIsTold) {
  ExecutorStarter starter("/no/such/tony-executor", "job-four", 2);
  const absl::Status status =
      starter.Start({.arguments = {"/no/such/tony-executor"}, .environment = {{"A=1"}}}).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
}

}  // namespace
}  // namespace tony::backend
