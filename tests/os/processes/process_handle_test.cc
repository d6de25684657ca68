// Processes held by a descriptor.
#include "os/processes/process_handle.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/files/wait_readable.h"
#include "tests/os/process_support.h"

namespace tony::os {
namespace {

TEST(ProcessHandleTest, SignalsAndSeesTheEndOfAProcessThatIsNotReaped) {
  const pid_t child = ForkChild([] { ::pause(); });
  auto handle = ProcessHandle::Open(child);
  ASSERT_TRUE(handle.ok()) << handle.status();
  EXPECT_EQ(handle->pid(), child);
  EXPECT_FALSE(handle->ended());
  handle->Signal(SIGKILL);
  EXPECT_TRUE(WaitReadable(handle->pidfd(), std::chrono::seconds(10)));
  EXPECT_TRUE(handle->ended());
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(handle->ended());
  handle->Signal(SIGKILL);  // reaches nobody
  EXPECT_EQ(ProcessHandle::Open(child).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tony::os
