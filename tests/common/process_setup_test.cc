// How a program ends that is not given what it needs.
#include "common/process_setup.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "common/event_loop.h"

namespace tony {
namespace {

// In a child, where nothing catches it, on a thread like those of libraries.
template <typename Function>
void RunUncaught(Function function) {
  SetUpProcess();
  std::thread(function).join();
  std::_Exit(0);
}

class ProcessSetupTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ProcessSetupTest, AProgramWithoutDescriptorsSaysSo) {
  const auto make_loop = [] {
    const rlimit none{3, 3};
    ::setrlimit(RLIMIT_NOFILE, &none);
    EventLoop loop;
    auto signals = loop.WatchSignals({SIGUSR1}, [](int) {});
  };
  EXPECT_EXIT(RunUncaught(make_loop), ::testing::ExitedWithCode(kExitUnable),
              "cannot go on: .*Too many open files.*; raise the limit on open files \\(ulimit -n");
}

TEST_F(ProcessSetupTest, AProgramWithoutThreadsOrMemorySaysSo) {
  const auto no_thread = [] {
    throw std::system_error(EAGAIN, std::generic_category(), "a thread cannot be started");
  };
  EXPECT_EXIT(RunUncaught(no_thread), ::testing::ExitedWithCode(kExitUnable),
              "cannot go on: a thread cannot be started.*ulimit -u");
  EXPECT_EXIT(RunUncaught([] { throw std::bad_alloc(); }), ::testing::ExitedWithCode(kExitUnable),
              "cannot go on: there is no memory left");
}

TEST_F(ProcessSetupTest, TheProcessHasTheProgramsName) {
  char name[16] = "";
  std::thread([&] {
    ::prctl(PR_SET_NAME, "ld-linux-x86-64", 0, 0, 0);  // as a loader leaves it
    SetUpProcess();
    ::prctl(PR_GET_NAME, name, 0, 0, 0);
  }).join();
  EXPECT_STREQ(name, "common_test");
}

TEST_F(ProcessSetupTest, TheLimitOnOpenFilesIsRaisedAndGivenBack) {
  const uint64_t before = OpenFilesLimit();
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  LimitOpenFiles(64);
  EXPECT_EQ(OpenFilesLimit(), 64u);
  RaiseOpenFiles();
  EXPECT_EQ(OpenFilesLimit(), limit.rlim_max);
  LimitOpenFiles(before);
  EXPECT_EQ(OpenFilesLimit(), before);
}

TEST_F(ProcessSetupTest, AsMuchMemoryMayBeLockedAsTheHardLimitAllows) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &before), 0);
  rlimit less = before;
  less.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &less), 0);
  RaiseLockedMemory();
  rlimit after{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  ::setrlimit(RLIMIT_MEMLOCK, &before);
}

TEST_F(ProcessSetupTest, AMistakeOfOursIsLeftToADebugger) {
  const auto lose_thread = [] { const std::thread lost([] {}); };
  EXPECT_EXIT(RunUncaught(lose_thread), ::testing::KilledBySignal(SIGABRT), "");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose heaps are their own
TEST_F(ProcessSetupTest, LargeBuffersKeepTheirPages) {
  constexpr int kRounds = 100;
  // A page fault for each page of each buffer would be 77,000.
  constexpr int64_t kMostFaults = 5'000;
  const auto use_buffers = [] {
    const auto faults = [] {
      rusage usage{};
      ::getrusage(RUSAGE_SELF, &usage);
      return int64_t{usage.ru_minflt};
    };
    const int64_t before = faults();
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<std::string> buffers(3, std::string(1 << 20, 'x'));
    }
    std::_Exit(faults() - before < kMostFaults ? 0 : 1);
  };
  EXPECT_EXIT(RunUncaught(use_buffers), ::testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace tony
