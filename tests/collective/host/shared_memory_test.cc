#include "collective/host/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace tony::collective {
namespace {

constexpr size_t kBytes = 10000;

TEST(SharedMemory, IsSharedAndZero) {
  auto first = SharedMemory::Create(kBytes);
  ASSERT_TRUE(first.ok()) << first.status().message();
  auto second = SharedMemory::Map(dup((*first)->descriptor()), kBytes);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ((*second)->size(), kBytes);
  for (size_t i = 0; i < kBytes; ++i) ASSERT_EQ((*second)->data()[i], std::byte{0});
  (*first)->data()[kBytes - 1] = std::byte{7};
  EXPECT_EQ((*second)->data()[kBytes - 1], std::byte{7});
}

TEST(SharedMemory, LazyBytesTakeMemoryWhenTheyAreUsed) {
  constexpr size_t kLazyBytes = size_t{64} << 30;
  auto first = SharedMemory::Create(kBytes, kLazyBytes);
  ASSERT_TRUE(first.ok()) << first.status().message();
  auto second = SharedMemory::Map(dup((*first)->descriptor()), kBytes, kLazyBytes);
  ASSERT_TRUE(second.ok()) << second.status().message();
  ASSERT_EQ((*second)->size(), kBytes + kLazyBytes);
  const auto taken = [&] {
    struct stat status {};
    EXPECT_EQ(fstat((*first)->descriptor(), &status), 0);
    return static_cast<size_t>(status.st_blocks) * 512;
  };
  const size_t before = taken();
  EXPECT_GE(before, kBytes);
  EXPECT_LT(before, kBytes + 4096);
  (*first)->data()[kBytes + kLazyBytes - 1] = std::byte{7};
  EXPECT_EQ((*second)->data()[kBytes + kLazyBytes - 1], std::byte{7});
  EXPECT_EQ(taken(), before + 4096);
}

TEST(SharedMemory, LazyBytesNeedNotBeThere) {
  auto none = SharedMemory::Create(kBytes);
  ASSERT_TRUE(none.ok());
  auto second = SharedMemory::Map(dup((*none)->descriptor()), kBytes, kBytes);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ((*second)->size(), kBytes);
  auto too_many = SharedMemory::Create(kBytes, size_t{1} << 50);  // more than there are addresses
  ASSERT_TRUE(too_many.ok()) << too_many.status().message();
  EXPECT_EQ((*too_many)->size(), kBytes);
}

TEST(SharedMemory, NobodyCanMakeItSmaller) {
  auto memory = SharedMemory::Create(kBytes);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(ftruncate((*memory)->descriptor(), 1), -1);
  EXPECT_EQ(errno, EPERM);
}

TEST(SharedMemory, LeavesNothing) {
  const int before = dup(0);
  close(before);
  { auto memory = SharedMemory::Create(kBytes); }
  { auto refused = SharedMemory::Map(open("/dev/null", O_RDONLY | O_CLOEXEC), kBytes); }
  const int after = dup(0);
  close(after);
  EXPECT_EQ(after, before) << "a descriptor is open still";
}

TEST(SharedMemory, RefusesOtherFiles) {
  auto refused = SharedMemory::Map(open("/dev/zero", O_RDWR | O_CLOEXEC), kBytes);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
  // Memory that its owner could cut while we read it.
  const int loose = memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(loose, kBytes), 0);
  refused = SharedMemory::Map(loose, kBytes);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().message(), "this is no shared memory of a fixed size");
}

TEST(SharedMemory, RefusesOneThatIsTooSmall) {
  auto memory = SharedMemory::Create(kBytes);
  ASSERT_TRUE(memory.ok());
  auto refused = SharedMemory::Map(dup((*memory)->descriptor()), kBytes + 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().message(), "shared memory has 10000 bytes instead of 10001");
}

/// A limit stands in for a machine that is full; a signal at the first use would end the program.
TEST(SharedMemory, SaysWhenThereIsNotEnough) {
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit small = {.rlim_cur = 4096, .rlim_max = old.rlim_max};
  // As in a program that is not Python, which ignores it: the signal would end this one.
  const auto signal_before = signal(SIGXFSZ, SIG_DFL);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  auto refused = SharedMemory::Create(size_t{1} << 20);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  signal(SIGXFSZ, signal_before);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(refused.status().message(),
            "cannot get 1048576 bytes of shared memory: File too large");
}

TEST(SharedMemory, WhereFilesMayNotBeLargeThereIsNoMoreThanWhatIsNeeded) {
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit small = {.rlim_cur = kBytes, .rlim_max = old.rlim_max};
  const auto signal_before = signal(SIGXFSZ, SIG_DFL);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  auto memory = SharedMemory::Create(kBytes, size_t{1} << 30);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  signal(SIGXFSZ, signal_before);
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  EXPECT_EQ((*memory)->size(), size_t{kBytes});
}

TEST(SharedMemory, SaysWhenNoDescriptorIsLeft) {
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
  const rlimit none = {.rlim_cur = 0, .rlim_max = old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  auto refused = SharedMemory::Create(kBytes);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace tony::collective
