// Ranks of one host: as threads that share a mapping, and as processes.
#include "collective/host/host_group.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/collective/arithmetic/reference.h"
#include "tests/collective/host/host_ranks.h"
#include "tests/common/eventually.h"

namespace tony::collective {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kPatience = seconds(60);

/// Each size around the places where another way is taken.
TEST(HostGroupSizes, EachEdge) {
  constexpr int kRanks = 3;
  std::vector<size_t> sizes = {0, 1, 2, 63, 64, 65};
  for (const size_t edge : {kTinyBytes / 2, kExchangeBytes / 2, kSlotBytes, kPieceBytes,
                            3 * kPieceBytes, kWindowPieces * kPieceBytes, 9 * kPieceBytes}) {
    for (const size_t size : {edge - 1, edge, edge + 1}) sizes.push_back(size);
  }
  InThreads(kRanks, [&](HostGroup& group) {
    for (const size_t size : sizes) {
      const Bytes in(size, static_cast<unsigned char>(group.rank() + 1));
      Bytes out(size + 1, 0xee);
      const Status done = group.AllReduce(in.data(), out.data(), size, DataType::kUint8,
                                          ReduceOp::kSum, After(kPatience));
      ASSERT_TRUE(done.ok()) << done.message();
      EXPECT_EQ(out.back(), 0xee);
      out.pop_back();
      EXPECT_EQ(out, Bytes(size, 1 + 2 + 3)) << size;
    }
  });
}

/// So large that the result goes past the caches.
TEST(HostGroupSizes, ManyPieces) {
  constexpr size_t kCount = (size_t{9} << 20) / sizeof(float) + 5;
  InThreads(2, [&](HostGroup& group) {
    std::vector<float> in(kCount, static_cast<float>(group.rank() + 1));
    std::vector<float> out(kCount);
    const Status done = group.AllReduce(in.data(), out.data(), kCount, DataType::kFloat32,
                                        ReduceOp::kSum, After(kPatience));
    ASSERT_TRUE(done.ok()) << done.message();
    EXPECT_EQ(out, std::vector<float>(kCount, 3.0F));
  });
}

TEST(HostGroupBarrier, NobodyGoesOnBeforeAllHaveCome) {
  constexpr int kRanks = 4;
  std::atomic<int> came{0};
  InThreads(kRanks, [&](HostGroup& group) {
    for (int round = 1; round <= 100; ++round) {
      came.fetch_add(1);
      const Status done = group.Barrier(After(kPatience));
      ASSERT_TRUE(done.ok()) << done.message();
      EXPECT_GE(came.load(), kRanks * round);
      ASSERT_TRUE(group.Barrier(After(kPatience)).ok());
    }
  });
}

TEST(HostGroupFailure, ARankThatDoesNotComeIsNamed) {
  const auto memory = MemoryFor(2);
  const auto group = Join(memory, 0, 2);
  float value = 1;
  const auto reduce = [&] {
    return group->AllReduce(&value, &value, 1, DataType::kFloat32, ReduceOp::kSum,
                            After(milliseconds(5)));
  };
  const Status late = reduce();
  EXPECT_EQ(late.code(), Code::kDeadlineExceeded);
  EXPECT_EQ(late.message().rfind("rank 1 of this host has not come in ", 0), 0U) << late.message();
  // The ranks' positions are unknown now, so the group stays failed.
  EXPECT_EQ(reduce().message(), late.message());
}

TEST(HostGroupFailure, WhoSleepsIsWokenByAFailure) {
  const auto memory = MemoryFor(3);
  const auto waiting = Join(memory, 0, 3);
  const auto other = Join(memory, 1, 3);
  const auto& sleepers = reinterpret_cast<HostMemory*>(memory->data())->line.sleepers;
  std::thread failing([&] {
    EXPECT_TRUE(Eventually([&] { return sleepers.load() != 0; }));
    other->Fail(2);
  });
  const Status ended = waiting->Barrier(After(kPatience));
  failing.join();
  EXPECT_EQ(ended.code(), Code::kAborted);
  EXPECT_EQ(ended.message(), "rank 2 of this host has ended");
}

TEST(HostGroupFailure, WhoSleepsIsWokenByTheLastOne) {
  const auto memory = MemoryFor(2);
  const auto waiting = Join(memory, 0, 2);
  const auto late = Join(memory, 1, 2);
  const auto& sleepers = reinterpret_cast<HostMemory*>(memory->data())->line.sleepers;
  std::thread coming([&] {
    EXPECT_TRUE(Eventually([&] { return sleepers.load() != 0; }));
    EXPECT_TRUE(late->Barrier(After(kPatience)).ok());
  });
  EXPECT_TRUE(waiting->Barrier(After(kPatience)).ok());
  coming.join();
}

/// A process that is killed in the middle of a vector: the other one is told and ends at once.
TEST(HostGroupFailure, AKilledProcess) {
  constexpr size_t kCount = 50 * kPieceBytes;
  const auto memory = MemoryFor(2);
  const auto& other = reinterpret_cast<HostMemory*>(memory->data())->Of(1).line;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Ends by itself when half of it is done: the first process takes no further piece then.
    const auto group = Join(memory, 1, 2);
    std::vector<uint8_t> vector(kCount, 1);
    std::thread end([&] {
      if (!Eventually([&] { return other.fetched.load() >= 25; })) _exit(2);
      kill(getpid(), SIGKILL);
    });
    for (;;) {
      (void)group->AllReduce(vector.data(), vector.data(), kCount, DataType::kUint8, ReduceOp::kSum,
                             After(kPatience));
    }
  }
  const auto group = Join(memory, 0, 2);
  std::thread reaper([&] {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    group->Fail(1);
  });
  std::vector<uint8_t> vector(kCount, 1);
  Status ended;
  while (ended.ok()) {
    ended = group->AllReduce(vector.data(), vector.data(), kCount, DataType::kUint8, ReduceOp::kSum,
                             After(kPatience));
  }
  reaper.join();
  EXPECT_EQ(ended.code(), Code::kAborted);
  EXPECT_EQ(ended.message(), "rank 1 of this host has ended");
}

/// A long operation is no late one: each step has as long as the whole was given.
TEST(HostGroupFailure, WhoMovesIsNotLate) {
  const auto memory = MemoryFor(2);
  const auto first = Join(memory, 0, 2);
  const auto second = Join(memory, 1, 2);
  const Deadline past(std::chrono::steady_clock::now(), kPatience);
  std::thread waiting([&] { EXPECT_TRUE(first->Barrier(past).ok()); });
  const auto& sleepers = reinterpret_cast<HostMemory*>(memory->data())->line.sleepers;
  EXPECT_TRUE(Eventually([&] { return sleepers != 0; }));
  EXPECT_TRUE(second->Barrier(past).ok());
  waiting.join();
  const Status late = first->Barrier(std::chrono::steady_clock::now());
  EXPECT_EQ(late.code(), Code::kDeadlineExceeded);
}

/// When a rank is late, all ranks get an error: the late one when it comes, and those that still
/// wait.
TEST(HostGroupFailure, WhoIsLateIsLateForAll) {
  const auto memory = MemoryFor(4);
  const auto first = Join(memory, 0, 4);
  const auto late = Join(memory, 1, 4);
  const auto other = Join(memory, 2, 4);
  const Status gave_up = first->Barrier(After(milliseconds(5)));
  EXPECT_EQ(gave_up.code(), Code::kDeadlineExceeded);
  for (HostGroup* const group : {other.get(), late.get()}) {
    const Status told = group->Barrier(After(kPatience));
    EXPECT_EQ(told.code(), Code::kDeadlineExceeded);
    EXPECT_EQ(told.message(), "rank 1 of this host has not come in time");
  }
}

/// Without this, a killed process's buffers would stay as long as another rank keeps one of its
/// own.
TEST(HostGroupFailure, BuffersOfAKilledProcessGo) {
  constexpr size_t kBytes = size_t{8} << 20;
  const auto memory = MemoryFor(2);
  auto group = Join(memory, 0, 2);
  void* const own = group->arena()->Allocate(kBytes);
  std::memset(own, 1, kBytes);
  const auto taken = [&] {
    struct stat status {};
    EXPECT_EQ(fstat(memory->descriptor(), &status), 0);
    return static_cast<size_t>(status.st_blocks) * 512;
  };
  const size_t before = taken();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto other = Join(memory, 1, 2);
    std::memset(other->arena()->Allocate(kBytes), 2, kBytes);
    (void)other->Barrier(After(kPatience));
    for (;;) pause();
  }
  EXPECT_TRUE(group->Barrier(After(kPatience)).ok());
  EXPECT_GE(taken(), before + kBytes);
  // Another group's end changes nothing while the process lives.
  Join(memory, 0, 2).reset();
  EXPECT_GE(taken(), before + kBytes);
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  group.reset();
  EXPECT_LE(taken(), before);
  EXPECT_EQ(static_cast<unsigned char*>(own)[kBytes - 1], 1);
}

/// A part's windows lie in the arena of its first rank, which may be gone when others fetch from
/// it.
TEST(HostGroupFailure, WhatAnEndedProcessHasDoneLastStaysWhileAnyGoesOn) {
  const std::vector<unsigned char> sent(2 * kPieceBytes, 7);
  const auto memory = MemoryFor(3);
  int acceptor[2];
  ASSERT_EQ(pipe(acceptor), 0);
  std::vector<pid_t> children;
  for (const int rank : {0, 1}) {
    children.push_back(fork());
    ASSERT_GE(children.back(), 0);
    if (children.back() != 0) continue;
    auto group = Join(memory, rank, 3);
    auto part = group->Subgroup({1, 2}, After(kPatience));
    bool done = part.ok();
    std::vector<unsigned char> data = sent;
    if (rank == 1)
      done = done && (*part)->Broadcast(data.data(), data.size(), 0, After(kPatience)).ok();
    if (rank == 0) done = done && read(acceptor[0], data.data(), 1) == 1;  // until rank 1 has ended
    group->Leave();
    if (part.ok()) part->reset();
    group.reset();
    _exit(done ? 0 : 1);
  }
  const auto end_of = [&](int rank) {
    int status = -1;
    EXPECT_EQ(waitpid(children[static_cast<size_t>(rank)], &status, 0),
              children[static_cast<size_t>(rank)]);
    EXPECT_EQ(status, 0) << rank;
  };
  const auto group = Join(memory, 2, 3);
  auto part = group->Subgroup({1, 2}, After(kPatience));
  ASSERT_TRUE(part.ok()) << part.status().message();
  end_of(1);
  ASSERT_EQ(write(acceptor[1], "x", 1), 1);
  end_of(0);
  std::vector<unsigned char> received(sent.size());
  const Status done = (*part)->Broadcast(received.data(), received.size(), 0, After(kPatience));
  EXPECT_TRUE(done.ok()) << done.message();
  EXPECT_EQ(received, sent);
  for (const int end : acceptor) close(end);
}

TEST(HostGroupJoin, MemoryOfFewerRanksIsRefused) {
  const auto memory = MemoryFor(2);
  for (const auto& [rank, ranks] : {std::pair{2, 3}, {-1, 2}, {2, 2}}) {
    auto group = HostGroup::Join(memory, rank, ranks);
    ASSERT_FALSE(group.ok());
    EXPECT_EQ(group.status().code(), Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace tony::collective
