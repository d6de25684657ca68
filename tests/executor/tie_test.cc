// A tie to real processes.
#include "executor/tie.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>

#include "os/processes/process_identity.h"
#include "os/processes/subprocess.h"

namespace tony::executor {
namespace {

os::Subprocess StartSleep() {
  os::SubprocessRequest request;
  request.arguments = {"/bin/sleep", "600"};
  return os::Subprocess::Start(request).value();
}

TEST(TieTest, TellsTheEndOnce) {
  EventLoop loop;
  const os::Subprocess sleep = StartSleep();
  int ends = 0;
  const auto tie = Tie::To(loop, sleep.pid(), os::ProcessStart(sleep.pid()).value(), [&] {
    ++ends;
    loop.Post([&] { loop.Stop(); });
  });
  ASSERT_TRUE(tie.ok()) << tie.status();
  const auto deadline = loop.After(std::chrono::seconds(30), [&] { loop.Stop(); });
  ::kill(sleep.pid(), SIGKILL);
  loop.Run();
  EXPECT_EQ(ends, 1);
}

TEST(TieTest, AnotherProcessOfThatNumberIsNotTakenForIt) {
  EventLoop loop;
  const os::Subprocess sleep = StartSleep();
  const int64_t start = os::ProcessStart(sleep.pid()).value();
  const auto never = [] { FAIL() << "the process lives"; };
  EXPECT_TRUE(absl::IsNotFound(Tie::To(loop, sleep.pid(), start - 1, never).status()));
  EXPECT_TRUE(absl::IsNotFound(Tie::To(loop, sleep.pid(), start + 1, never).status()));
  EXPECT_TRUE(Tie::To(loop, sleep.pid(), start, never).ok());
  ::kill(sleep.pid(), SIGKILL);
}

TEST(TieTest, AProcessThatIsGoneIsNotFound) {
  EventLoop loop;
  constexpr pid_t kNobody = 0x3fffffff;  // above the kernel's largest number
  EXPECT_TRUE(absl::IsNotFound(Tie::To(loop, kNobody, 1, [] {}).status()));
}

}  // namespace
}  // namespace tony::executor
