// One filler, many waiters: threads and real processes.
#include "os/archives/folder_cache.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/os/temporary_folder.h"

namespace tony::os {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr Duration kLong = std::chrono::seconds(60);

absl::Status FillWithFile(const std::string& folder) {
  return WriteFileAtomically(folder + "/f", "filled");
}

absl::Status MustNotFill(const std::string&) { return absl::InternalError("filled again"); }

TEST(UnpackOnceTest, FillsOnce) {
  TemporaryFolder folder;
  for (const Durability durability : {Durability::kSynced, Durability::kCached}) {
    const std::string key = durability == Durability::kSynced ? "synced" : "cached";
    const auto first = UnpackOnce(folder / "cache", key, kLong, FillWithFile, durability);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(*first, folder / ("cache/" + key));
    EXPECT_EQ(Contents(*first + "/f"), "filled");
    EXPECT_EQ(ModeOf(*first), 0700u);
    const auto second = UnpackOnce(folder / "cache", key, kLong, MustNotFill, durability);
    EXPECT_EQ(second.value(), *first);
  }
}

TEST(UnpackOnceTest, RefusesKeysThatArePaths) {
  TemporaryFolder folder;
  for (const char* key : {"", ".", "..", ".hidden", "a/b", "../x", "a b", "a\nb"}) {
    EXPECT_EQ(UnpackOnce(folder.path(), key, kLong, FillWithFile).status().code(),
              absl::StatusCode::kInvalidArgument)
        << key;
  }
}

TEST(UnpackOnceTest, ManyThreadsOneFill) {
  TemporaryFolder folder;
  const ScopedUmask scoped(0777);
  std::atomic<int> fills = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      const auto result = UnpackOnce(
          folder.path(), "key", kLong,
          [&](const std::string& path) {
            ++fills;
            return FillWithFile(path);
          },
          Durability::kCached);
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(Contents(*result + "/f"), "filled");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fills, 1);
}

TEST(UnpackOnceTest, FailureLeavesNothingAndTheNextTries) {
  TemporaryFolder folder;
  const auto failed = UnpackOnce(folder.path(), "key", kLong, [](const std::string& path) {
    EXPECT_TRUE(FillWithFile(path).ok());
    return absl::ResourceExhaustedError("no space");
  });
  EXPECT_EQ(failed.status(), absl::ResourceExhaustedError("no space"));
  EXPECT_FALSE(Exists(folder / "key"));
  EXPECT_FALSE(Exists(folder / "key.filling"));
  EXPECT_TRUE(UnpackOnce(folder.path(), "key", kLong, FillWithFile, Durability::kCached).ok());
}

/// A process that is filling "key" and has half of it; it stays so until killed.
class HangingFiller {
 public:
  explicit HangingFiller(const std::string& cache) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      (void)UnpackOnce(cache, "key", kLong, [&](const std::string& path) {
        (void)WriteFileAtomically(path + "/half", "done");
        if (write(ends[1], "x", 1) < 0) _exit(1);
        while (true) pause();
        return absl::OkStatus();
      });
      _exit(1);
    }
    close(ends[1]);
    pollfd half_done = {ends[0], POLLIN, 0};
    EXPECT_EQ(poll(&half_done, 1, 30'000), 1);
    EXPECT_TRUE(half_done.revents & POLLIN);
    close(ends[0]);
  }
  HangingFiller(const HangingFiller&) = delete;
  HangingFiller& operator=(const HangingFiller&) = delete;
  ~HangingFiller() { Kill(); }

  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    EXPECT_EQ(waitpid(pid_, nullptr, 0), pid_);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

TEST(UnpackOnceTest, WaitEndsAtItsLimitAndNamesTheHolder) {
  TemporaryFolder folder;
  const HangingFiller filler(folder.path());
  const auto result = UnpackOnce(folder.path(), "key", std::chrono::milliseconds(50), MustNotFill);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(result.status().message()),
              AllOf(HasSubstr("50 ms"), HasSubstr(absl::StrCat("process ", filler.pid())),
                    HasSubstr(folder / "key")));
}

TEST(UnpackOnceTest, NextFillsAfreshWhenTheFillerIsKilled) {
  TemporaryFolder folder;
  HangingFiller filler(folder.path());
  ASSERT_TRUE(Exists(folder / "key.filling/half"));
  absl::StatusOr<std::string> result;
  std::thread waiter(
      [&] { result = UnpackOnce(folder.path(), "key", kLong, FillWithFile, Durability::kCached); });
  filler.Kill();
  waiter.join();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Contents(*result + "/f"), "filled");
  EXPECT_FALSE(Exists(*result + "/half"));
}

TEST(UnpackOnceTest, OtherKeysDoNotWait) {
  TemporaryFolder folder;
  const HangingFiller filler(folder.path());
  EXPECT_TRUE(
      UnpackOnce(folder.path(), "other", Duration::zero(), FillWithFile, Durability::kCached).ok());
}

}  // namespace
}  // namespace tony::os
