// The C API in one process, which is the only rank; tests/python has several.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tests/collective/api/no_threads.h"
#include "tests/collective/base/process_entries.h"
#include "tests/common/eventually.h"
#include "tony/collective.h"

namespace {

constexpr int64_t kPatienceMs = 60000;

tony_collective_options OneRank() {
  tony_collective_options options{};
  options.struct_size = sizeof(options);
  options.size = 1;
  options.meet_timeout_ms = kPatienceMs;
  options.operation_timeout_ms = kPatienceMs;
  return options;
}

constexpr std::array<int64_t, 1> kThree = {3};

tony_collective_tensor Floats(const char* name) {
  tony_collective_tensor tensor{};
  tensor.name = name;
  tensor.type = TONY_COLLECTIVE_FLOAT32;
  tensor.dimensions = 1;
  tensor.shape = kThree.data();
  return tensor;
}

constexpr tony_collective_reduction kTwice = {TONY_COLLECTIVE_SUM, 2, 1};

class CApiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto options = OneRank();
    ASSERT_EQ(tony_collective_init(&options), TONY_COLLECTIVE_OK) << tony_collective_last_error();
  }
  void TearDown() override { EXPECT_EQ(tony_collective_shutdown(), TONY_COLLECTIVE_OK); }
};

/// As where a user has as many processes as he may have.
TEST(CApiWithoutThreadsTest, InitSaysSoAndCanBeCalledAgain) {
  constexpr char kSentence[] =
      "no thread can be started (raise the limit of processes, ulimit -u or the container's "
      "pids.max, or of memory): Resource temporarily unavailable";
  const auto options = OneRank();
  const auto before = tony::collective::ProcessEntries();
  const bool possible = tony::collective::WithoutThreads([&] {
    EXPECT_EQ(tony_collective_init(&options), TONY_COLLECTIVE_RESOURCE_EXHAUSTED);
    EXPECT_STREQ(tony_collective_last_error(), kSentence);
    EXPECT_EQ(tony_collective_is_initialized(), 0);
  });
  if (!possible) GTEST_SKIP() << "this kernel does not refuse threads to a thread";
  tony::collective::ExpectProcessEntries(before);
  EXPECT_EQ(tony_collective_init(&options), TONY_COLLECTIVE_OK) << tony_collective_last_error();
  tony::collective::WithoutThreads([&] {
    EXPECT_EQ(tony_collective_start_timeline("/dev/null", 0), TONY_COLLECTIVE_RESOURCE_EXHAUSTED);
    EXPECT_STREQ(tony_collective_last_error(), kSentence);
  });
  EXPECT_EQ(tony_collective_start_timeline("/dev/null", 0), TONY_COLLECTIVE_OK);
  EXPECT_EQ(tony_collective_shutdown(), TONY_COLLECTIVE_OK);
  tony::collective::ExpectProcessEntries(before);
}

/// One rank needs neither shared memory nor anybody to tell it where others are; nothing is said.
TEST(CApiWithoutSharedMemoryTest, OneRankGoesOn) {
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit small = {.rlim_cur = 4096, .rlim_max = old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto options = OneRank();
  ::testing::internal::CaptureStderr();
  const int started = tony_collective_init(&options);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  ASSERT_EQ(started, TONY_COLLECTIVE_OK) << tony_collective_last_error();
  std::vector<float> vector = {1, 2, 3};
  const auto tensor = Floats("a");
  const int64_t handle = tony_collective_allreduce(&tensor, &kTwice, vector.data(), vector.data());
  EXPECT_EQ(tony_collective_wait(handle, kPatienceMs), TONY_COLLECTIVE_OK);
  EXPECT_EQ(vector, (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(tony_collective_release(handle), TONY_COLLECTIVE_OK);
  EXPECT_EQ(tony_collective_shutdown(), TONY_COLLECTIVE_OK);
}

TEST_F(CApiTest, OneOperation) {
  std::vector<float> vector = {1, 2, 3};
  const auto tensor = Floats("a");
  const int64_t handle = tony_collective_allreduce(&tensor, &kTwice, vector.data(), vector.data());
  ASSERT_GT(handle, 0) << tony_collective_last_error();
  EXPECT_EQ(tony_collective_wait(handle, kPatienceMs), TONY_COLLECTIVE_OK);
  EXPECT_EQ(tony_collective_poll(handle), 1);
  EXPECT_EQ(vector, (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(tony_collective_output_data(handle), nullptr);
  EXPECT_EQ(tony_collective_release(handle), TONY_COLLECTIVE_OK);
  EXPECT_EQ(tony_collective_release(handle), TONY_COLLECTIVE_INVALID_ARGUMENT);
  EXPECT_EQ(tony_collective_poll(handle), -TONY_COLLECTIVE_INVALID_ARGUMENT);
}

TEST_F(CApiTest, AnOutputOutlivesTheLibrary) {
  const std::vector<float> vector = {1, 2, 3};
  const auto tensor = Floats("a");
  const int64_t handle = tony_collective_allgather(&tensor, vector.data());
  ASSERT_GT(handle, 0) << tony_collective_last_error();
  ASSERT_EQ(tony_collective_wait(handle, kPatienceMs), TONY_COLLECTIVE_OK);
  EXPECT_EQ(tony_collective_shutdown(), TONY_COLLECTIVE_OK);
  std::array<int64_t, 4> shape{};
  ASSERT_EQ(tony_collective_output_shape(handle, shape.data(), 4), 1);
  EXPECT_EQ(shape[0], 3);
  EXPECT_EQ(tony_collective_output_splits(handle, nullptr, 0), 0);
  const auto* const data = static_cast<const float*>(tony_collective_output_data(handle));
  EXPECT_EQ(std::vector<float>(data, data + 3), vector);
  EXPECT_EQ(tony_collective_release(handle), TONY_COLLECTIVE_OK);
}

TEST_F(CApiTest, BarrierAndJoin) {
  const int64_t barrier = tony_collective_barrier("all", 0);
  EXPECT_EQ(tony_collective_wait(barrier, kPatienceMs), TONY_COLLECTIVE_OK);
  EXPECT_LT(tony_collective_last_joined(barrier), 0);
  EXPECT_EQ(tony_collective_release(barrier), TONY_COLLECTIVE_OK);
  const int64_t join = tony_collective_join(-1);
  EXPECT_EQ(tony_collective_wait(join, kPatienceMs), TONY_COLLECTIVE_OK);
  EXPECT_EQ(tony_collective_last_joined(join), 0);
  EXPECT_EQ(tony_collective_release(join), TONY_COLLECTIVE_OK);
}

TEST_F(CApiTest, ProcessSets) {
  const int own = 0, two[] = {0, 1};
  // With one rank, its set is the set of all ranks.
  const int64_t added = tony_collective_add_process_set("one", &own, 1);
  ASSERT_EQ(tony_collective_wait(added, kPatienceMs), TONY_COLLECTIVE_OK);
  EXPECT_EQ(tony_collective_added_process_set(added), 0);
  EXPECT_EQ(tony_collective_release(added), TONY_COLLECTIVE_OK);
  EXPECT_EQ(tony_collective_process_set_size(0), 1);
  EXPECT_EQ(tony_collective_process_set_rank(0), 0);
  EXPECT_EQ(tony_collective_process_set_rank(5), -TONY_COLLECTIVE_INVALID_ARGUMENT);
  const int64_t wrong = tony_collective_add_process_set("two", two, 2);
  EXPECT_EQ(tony_collective_wait(wrong, kPatienceMs), TONY_COLLECTIVE_INVALID_ARGUMENT);
  EXPECT_EQ(tony_collective_last_error(),
            std::string("process set 'two': rank 0: it is to have rank 1, and there are 1 ranks"));
  EXPECT_EQ(tony_collective_added_process_set(wrong), -TONY_COLLECTIVE_INVALID_ARGUMENT);
  const int64_t removed = tony_collective_remove_process_set("all", 0);
  EXPECT_EQ(tony_collective_wait(removed, kPatienceMs), TONY_COLLECTIVE_INVALID_ARGUMENT);
  EXPECT_EQ(tony_collective_barrier("b", 5), -TONY_COLLECTIVE_INVALID_ARGUMENT);
  EXPECT_EQ(tony_collective_add_process_set("none", nullptr, 1), -TONY_COLLECTIVE_INVALID_ARGUMENT);
  EXPECT_EQ(tony_collective_add_process_set(nullptr, &own, 1), -TONY_COLLECTIVE_INVALID_ARGUMENT);
  EXPECT_EQ(tony_collective_remove_process_set(nullptr, 1), -TONY_COLLECTIVE_INVALID_ARGUMENT);
}

TEST_F(CApiTest, AGroupIsSubmittedAsAWholeOrNotAtAll) {
  std::vector<float> first = {1, 2, 3}, second = {4, 5, 6};
  const void* const in[] = {first.data(), second.data()};
  void* const out[] = {first.data(), second.data()};
  tony_collective_tensor tensors[] = {Floats("a"), Floats("a")};
  int64_t handles[] = {-7, -7};
  EXPECT_EQ(tony_collective_grouped_allreduce("g", 2, tensors, &kTwice, in, out, handles),
            TONY_COLLECTIVE_INVALID_ARGUMENT);
  EXPECT_NE(std::string(tony_collective_last_error()).find("'a' is on its way already"),
            std::string::npos);
  EXPECT_EQ(handles[0], -7);
  tensors[1] = Floats("b");
  tensors[1].set = 3;
  EXPECT_EQ(tony_collective_grouped_allreduce("g", 2, tensors, &kTwice, in, out, handles),
            TONY_COLLECTIVE_INVALID_ARGUMENT);
  tensors[1].set = 0;
  ASSERT_EQ(tony_collective_grouped_allreduce("g", 2, tensors, &kTwice, in, out, handles),
            TONY_COLLECTIVE_OK)
      << tony_collective_last_error();
  for (const int64_t handle : handles) {
    EXPECT_EQ(tony_collective_wait(handle, kPatienceMs), TONY_COLLECTIVE_OK);
    EXPECT_EQ(tony_collective_release(handle), TONY_COLLECTIVE_OK);
  }
  EXPECT_EQ(second, (std::vector<float>{8, 10, 12}));
  ASSERT_EQ(tony_collective_grouped_allgather("g", 2, tensors, in, handles), TONY_COLLECTIVE_OK);
  EXPECT_EQ(tony_collective_wait(handles[1], kPatienceMs), TONY_COLLECTIVE_OK);
  EXPECT_EQ(static_cast<float*>(tony_collective_output_data(handles[1]))[2], 12);
  EXPECT_EQ(tony_collective_wait(handles[0], kPatienceMs), TONY_COLLECTIVE_OK);
  ASSERT_EQ(tony_collective_grouped_reducescatter("g", 2, tensors, &kTwice, in, handles),
            TONY_COLLECTIVE_OK);
  EXPECT_EQ(tony_collective_wait(handles[0], kPatienceMs), TONY_COLLECTIVE_OK);
  EXPECT_EQ(static_cast<float*>(tony_collective_output_data(handles[0]))[0], 4);
  EXPECT_EQ(tony_collective_grouped_allgather("g", 0, nullptr, nullptr, nullptr),
            TONY_COLLECTIVE_OK);
  EXPECT_EQ(tony_collective_grouped_allgather("", 2, tensors, in, handles),
            TONY_COLLECTIVE_INVALID_ARGUMENT);
  EXPECT_EQ(tony_collective_grouped_allgather("g", 2, tensors, nullptr, handles),
            TONY_COLLECTIVE_INVALID_ARGUMENT);
}

TEST_F(CApiTest, BuffersOutliveTheLibraryAndAreNoChilds) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{1} << 20}) {
    auto* const buffer = static_cast<char*>(tony_collective_allocate(bytes));
    ASSERT_NE(buffer, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer) % 64, 0U);
    std::memset(buffer, 7, bytes);
    const pid_t child = fork();
    if (child == 0) {
      const bool refused = tony_collective_allocate(1) == nullptr;
      _exit(refused && tony_collective_free(buffer) == TONY_COLLECTIVE_OK ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(bytes == 0 || buffer[bytes - 1] == 7);
    ASSERT_EQ(tony_collective_shutdown(), TONY_COLLECTIVE_OK);
    EXPECT_TRUE(bytes == 0 || buffer[bytes - 1] == 7);
    EXPECT_EQ(tony_collective_free(buffer), TONY_COLLECTIVE_OK);
    EXPECT_EQ(tony_collective_free(buffer), TONY_COLLECTIVE_INVALID_ARGUMENT);
    const tony_collective_options options = OneRank();
    ASSERT_EQ(tony_collective_init(&options), TONY_COLLECTIVE_OK);
  }
  EXPECT_EQ(tony_collective_free(nullptr), TONY_COLLECTIVE_OK);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which end the process then
  EXPECT_EQ(tony_collective_allocate(SIZE_MAX / 2), nullptr);
  EXPECT_NE(std::string(tony_collective_last_error()).find("no memory"), std::string::npos);
#endif
}

TEST_F(CApiTest, WhatIsNoTensorIsRefused) {
  std::vector<float> vector(3);
  EXPECT_EQ(tony_collective_allreduce(nullptr, &kTwice, vector.data(), vector.data()),
            -TONY_COLLECTIVE_INVALID_ARGUMENT);
  auto tensor = Floats("a");
  tensor.type = 99;
  EXPECT_EQ(tony_collective_allgather(&tensor, vector.data()), -TONY_COLLECTIVE_INVALID_ARGUMENT);
  EXPECT_EQ(tony_collective_last_error(), std::string("tensor 'a' has an unknown type, 99"));
  tensor = Floats("a");
  const tony_collective_reduction none = {17, 1, 1};
  EXPECT_EQ(tony_collective_allreduce(&tensor, &none, vector.data(), vector.data()),
            -TONY_COLLECTIVE_INVALID_ARGUMENT);
  tensor.shape = nullptr;
  EXPECT_EQ(tony_collective_broadcast(&tensor, 0, vector.data()),
            -TONY_COLLECTIVE_INVALID_ARGUMENT);
  EXPECT_EQ(tony_collective_barrier(nullptr, 0), -TONY_COLLECTIVE_INVALID_ARGUMENT);
}

TEST_F(CApiTest, Counters) {
  std::vector<float> vector = {1, 2, 3};
  const auto tensor = Floats("a");
  const int64_t handle = tony_collective_allreduce(&tensor, &kTwice, vector.data(), vector.data());
  ASSERT_EQ(tony_collective_wait(handle, kPatienceMs), TONY_COLLECTIVE_OK);
  EXPECT_EQ(tony_collective_release(handle), TONY_COLLECTIVE_OK);
  tony_collective_counters counters{};
  EXPECT_EQ(tony_collective_get_counters(&counters), TONY_COLLECTIVE_INVALID_ARGUMENT);
  EXPECT_EQ(tony_collective_get_counters(nullptr), TONY_COLLECTIVE_INVALID_ARGUMENT);
  counters.struct_size = sizeof(counters);
  ASSERT_EQ(tony_collective_get_counters(&counters), TONY_COLLECTIVE_OK);
  EXPECT_EQ(counters.tensors[TONY_COLLECTIVE_ALLREDUCE], 1);
  EXPECT_EQ(counters.bytes[TONY_COLLECTIVE_ALLREDUCE], 12);
  EXPECT_EQ(counters.operations, 1);
  EXPECT_EQ(counters.waited_for_time, 0);
  int64_t waited_for[2] = {-1, -1};
  EXPECT_EQ(tony_collective_get_waited_for(waited_for, 2), 1);
  EXPECT_EQ(waited_for[0], 0);
  EXPECT_EQ(waited_for[1], -1);
  EXPECT_EQ(tony_collective_get_waited_for(nullptr, 0), 1);
}

/// A program that was built with a header that has fewer, or more of them.
TEST_F(CApiTest, CountersOfOtherVersions) {
  tony_collective_counters old{};
  old.struct_size = offsetof(tony_collective_counters, operations);
  old.operations = -1;
  EXPECT_EQ(tony_collective_get_counters(&old), TONY_COLLECTIVE_OK);
  EXPECT_EQ(old.operations, -1);
  EXPECT_EQ(old.struct_size, offsetof(tony_collective_counters, operations));
  struct {
    tony_collective_counters known;
    int64_t later = -1;
  } future{};
  future.known.struct_size = sizeof(future);
  EXPECT_EQ(tony_collective_get_counters(&future.known), TONY_COLLECTIVE_OK);
  EXPECT_EQ(future.later, -1);
}

TEST_F(CApiTest, SeeingItWork) {
  EXPECT_EQ(tony_collective_set_stall_times(0, -5), TONY_COLLECTIVE_OK);
  EXPECT_EQ(tony_collective_wait_for_question(0), 0) << "nobody asks the only rank";
  EXPECT_EQ(tony_collective_answer(1, "here"), TONY_COLLECTIVE_OK);
  EXPECT_EQ(tony_collective_answer(1, nullptr), TONY_COLLECTIVE_INVALID_ARGUMENT);
  EXPECT_EQ(tony_collective_start_timeline(nullptr, 0), TONY_COLLECTIVE_INVALID_ARGUMENT);
  EXPECT_EQ(tony_collective_start_timeline("/nowhere/t", 0), TONY_COLLECTIVE_FAILED_PRECONDITION);
  EXPECT_NE(std::string(tony_collective_last_error()).find("/nowhere/t"), std::string::npos);
  EXPECT_EQ(tony_collective_stop_timeline(), TONY_COLLECTIVE_FAILED_PRECONDITION);
  EXPECT_EQ(tony_collective_write_counters(nullptr), TONY_COLLECTIVE_INVALID_ARGUMENT);
  EXPECT_EQ(tony_collective_write_counters("/nowhere/c"), TONY_COLLECTIVE_INTERNAL);
}

TEST_F(CApiTest, Autotune) {
  tony_collective_autotune options{};
  EXPECT_EQ(tony_collective_start_autotune(nullptr), TONY_COLLECTIVE_INVALID_ARGUMENT);
  EXPECT_EQ(tony_collective_start_autotune(&options), TONY_COLLECTIVE_INVALID_ARGUMENT);
  options.struct_size = sizeof(options);
  options.fusion = 1;
  options.steps_per_sample = 1;
  EXPECT_EQ(tony_collective_start_autotune(&options), TONY_COLLECTIVE_INVALID_ARGUMENT);
  options.most_tries = 1;
  options.log = "/nowhere/t.csv";
  EXPECT_EQ(tony_collective_start_autotune(&options), TONY_COLLECTIVE_FAILED_PRECONDITION);
  EXPECT_NE(std::string(tony_collective_last_error()).find("/nowhere/t.csv"), std::string::npos);
  options.log = nullptr;
  EXPECT_EQ(tony_collective_start_autotune(&options), TONY_COLLECTIVE_OK);
  EXPECT_EQ(tony_collective_start_autotune(&options), TONY_COLLECTIVE_FAILED_PRECONDITION);
}

/// The thread that waits for questions holds nothing back.
TEST(CApiQuestionsTest, ShutdownEndsTheWait) {
  const auto options = OneRank();
  ASSERT_EQ(tony_collective_init(&options), TONY_COLLECTIVE_OK);
  std::atomic<bool> waits = false;
  std::thread answers([&] {
    waits = true;
    EXPECT_EQ(tony_collective_wait_for_question(kPatienceMs), -TONY_COLLECTIVE_FAILED_PRECONDITION);
  });
  EXPECT_TRUE(tony::Eventually([&] { return waits.load(); }));
  EXPECT_EQ(tony_collective_shutdown(), TONY_COLLECTIVE_OK);
  answers.join();
}

TEST_F(CApiTest, InitTwice) {
  const auto options = OneRank();
  EXPECT_EQ(tony_collective_init(&options), TONY_COLLECTIVE_FAILED_PRECONDITION);
  EXPECT_EQ(tony_collective_rank(), 0);
  EXPECT_EQ(tony_collective_size(), 1);
}

TEST_F(CApiTest, ShutDownWhileOthersSubmit) {
  std::atomic<bool> ended = false;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      const std::string name = "of " + std::to_string(thread);
      const auto tensor = Floats(name.c_str());
      std::vector<float> vector = {1, 2, 3};
      for (;;) {
        const int64_t handle =
            tony_collective_allreduce(&tensor, &kTwice, vector.data(), vector.data());
        if (handle < 0) break;
        const int code = tony_collective_wait(handle, kPatienceMs);
        EXPECT_NE(code, TONY_COLLECTIVE_IN_PROGRESS);
        EXPECT_EQ(tony_collective_release(handle), TONY_COLLECTIVE_OK);
        if (code != TONY_COLLECTIVE_OK) break;
      }
      ended = true;
    });
  }
  const auto tensor = Floats("mine");
  std::vector<float> vector = {1, 2, 3};
  for (int step = 0; step < 100; ++step) {
    const int64_t handle =
        tony_collective_allreduce(&tensor, &kTwice, vector.data(), vector.data());
    ASSERT_EQ(tony_collective_wait(handle, kPatienceMs), TONY_COLLECTIVE_OK);
    ASSERT_EQ(tony_collective_release(handle), TONY_COLLECTIVE_OK);
  }
  EXPECT_FALSE(ended);
  EXPECT_EQ(tony_collective_shutdown(), TONY_COLLECTIVE_OK);
  for (std::thread& thread : threads) thread.join();
}

TEST(CApiWithoutInitTest, EveryCallSaysSo) {
  EXPECT_EQ(tony_collective_is_initialized(), 0);
  EXPECT_EQ(tony_collective_rank(), -TONY_COLLECTIVE_FAILED_PRECONDITION);
  EXPECT_EQ(tony_collective_barrier("all", 0), -TONY_COLLECTIVE_FAILED_PRECONDITION);
  EXPECT_EQ(tony_collective_shutdown(), TONY_COLLECTIVE_OK);
  auto options = OneRank();
  options.struct_size = 8;
  EXPECT_EQ(tony_collective_init(&options), TONY_COLLECTIVE_INVALID_ARGUMENT);
  options = OneRank();
  options.rank = 1;
  EXPECT_EQ(tony_collective_init(&options), TONY_COLLECTIVE_INVALID_ARGUMENT);
  options = OneRank();
  options.batching_window_us = -1;
  EXPECT_EQ(tony_collective_init(&options), TONY_COLLECTIVE_INVALID_ARGUMENT);
  options = OneRank();
  options.meet_timeout_ms = 0;
  EXPECT_EQ(tony_collective_init(&options), TONY_COLLECTIVE_INVALID_ARGUMENT);
}

/// A store that has nothing.
int Refuse(void*, const char*, int64_t, tony_collective_take take, void* receiver) {
  const std::string sentence = "closed";
  take(receiver, sentence.data(), sentence.size());
  return TONY_COLLECTIVE_INTERNAL;
}

int Swallow(void*, const char*, const void*, size_t, tony_collective_take, void*) {
  return TONY_COLLECTIVE_OK;
}

TEST(CApiWithoutInitTest, WhatTheStoreSaysIsTold) {
  const tony_collective_store store = {nullptr, Swallow, Refuse};
  auto options = OneRank();
  options.size = 2;
  options.store = &store;
  EXPECT_EQ(tony_collective_init(&options), TONY_COLLECTIVE_INTERNAL);
  EXPECT_EQ(tony_collective_last_error(),
            std::string("cannot get 'host/1' from the job's store: closed"));
  EXPECT_EQ(tony_collective_is_initialized(), 0);
}

}  // namespace
