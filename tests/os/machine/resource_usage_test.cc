// Numbers of real processes.
#include "os/machine/resource_usage.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "os/containment/keeper.h"
#include "os/processes/process_tree.h"
#include "tests/os/process_support.h"

namespace tony::os {
namespace {

TEST(ResourceUsageTest, CountsTimeAndMemory) {
  LinePipe output;
  const pid_t child = ForkChild([&] {
    std::string memory(64 << 20, 'x');
    volatile double sum = 0;
    while (::clock() < CLOCKS_PER_SEC / 5) sum = sum + 1;
    ::dprintf(output.write_fd(), "%c\n", memory[12345]);
    ::pause();
  });
  ASSERT_EQ(output.ReadLine(), "x");
  const ResourceUsage usage = ReadResourceUsage({child});
  EXPECT_EQ(usage.process_count, 1);
  EXPECT_GE(usage.cpu_time, std::chrono::milliseconds(150));
  EXPECT_LT(usage.cpu_time, std::chrono::seconds(20));
  EXPECT_GE(usage.rss_bytes, 64 << 20);
  EXPECT_LT(usage.rss_bytes, int64_t{64 << 20} * 64);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(ResourceUsageTest, CountsBytesWritten) {
  char name[] = "/tmp/resource_usage_test.XXXXXX";
  const UniqueFd file(::mkstemp(name));
  ASSERT_TRUE(file.valid());
  const int64_t before = ReadResourceUsage({::getpid()}).write_bytes;
  const std::string block(1 << 20, 'x');
  ASSERT_EQ(::write(file.get(), block.data(), block.size()), 1 << 20);
  ::fsync(file.get());
  const int64_t after = ReadResourceUsage({::getpid()}).write_bytes;
  ::unlink(name);
  // 0 on a file system in memory, else at least what was written.
  if (after == before) GTEST_SKIP() << "the temporary folder has no storage behind it";
  EXPECT_GE(after - before, 1 << 20);
}

TEST(ResourceUsageTest, SumsOverATree) {
  auto keeper = Keeper::Start("resource_usage_test_" + std::to_string(::getpid()));
  ASSERT_TRUE(keeper.ok());
  LinePipe output;
  ASSERT_TRUE(
      (*keeper)
          ->Spawn(BashRequest("for i in 1 2 3; do sleep 600 & done; echo ready; wait", output))
          .ok());
  ASSERT_EQ(output.ReadLine(), "ready");
  const std::vector<pid_t> members = (*keeper)->Processes();
  EXPECT_EQ(members.size(), 4u);
  const ResourceUsage all = ReadResourceUsage(members);
  EXPECT_EQ(all.process_count, 4);
  EXPECT_GT(all.rss_bytes, ReadResourceUsage({members[0]}).rss_bytes);
}

TEST(ResourceUsageTest, AProcessThatIsGoneAddsNothing) {
  const pid_t child = ForkChild([] {});
  ::waitpid(child, nullptr, 0);
  const ResourceUsage usage = ReadResourceUsage({child});
  EXPECT_EQ(usage.process_count, 0);
  EXPECT_EQ(usage.rss_bytes, 0);
}

}  // namespace
}  // namespace tony::os
