// All operations of ranks of one host: any sizes in any order, faults, and processes that are
// killed.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "tests/collective/group_operations.h"
#include "tests/collective/host/host_ranks.h"
#include "tests/common/eventually.h"

namespace tony::collective {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

class HostOperationsTest : public ::testing::TestWithParam<int> {};

TEST_P(HostOperationsTest, AnyOneAfterTheOther) {
  const auto ranks = static_cast<size_t>(GetParam());
  const size_t others = std::max<size_t>(1, ranks - 1);
  const std::vector<size_t> edges = {kTinyBytes / others, kExchangeBytes / others, kSlotBytes,
                                     kSlotBytes / ranks,  kPieceBytes / ranks,     kPieceBytes,
                                     2 * kPieceBytes,     3 * kPieceBytes,         kSlotBytes - 64,
                                     5 * kPieceBytes};
  InThreads(GetParam(), [&](HostGroup& group) {
    for (int number = 0; number < GroupOperation::kAll && !::testing::Test::HasFailure();
         ++number) {
      GroupOperation(number, group.ranks(), edges).Run(group);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, HostOperationsTest, ::testing::Values(1, 2, 3, 4, 5),
                         ::testing::PrintToStringParamName());

/// So much that it goes past the caches, and round the windows many times.
TEST(HostOperations, LargeOnes) {
  InThreads(2, [](HostGroup& group) {
    constexpr size_t kBytes = (size_t{9} << 20) + 5;
    const auto mine = static_cast<unsigned char>(group.rank() + 1);
    const auto other = static_cast<unsigned char>(2 - group.rank());
    const Bytes in(kBytes, mine);
    Bytes out(2 * kBytes);
    ASSERT_TRUE(group.AllGather(in.data(), out.data(), {kBytes, kBytes}, After(kPatience)).ok());
    EXPECT_TRUE(out == Concatenated({Bytes(kBytes, 1), Bytes(kBytes, 2)}));

    out = in;
    ASSERT_TRUE(group.Broadcast(out.data(), kBytes, 1, After(kPatience)).ok());
    EXPECT_TRUE(out == Bytes(kBytes, 2));

    const size_t part = kBytes / 3;
    const size_t rest = kBytes - part;
    out.assign(kBytes, 0);
    const std::vector<size_t> sent =
        group.rank() == 0 ? std::vector{part, rest} : std::vector{rest, part};
    const std::vector<size_t> received =
        group.rank() == 0 ? std::vector{part, rest} : std::vector{rest, part};
    ASSERT_TRUE(group.AllToAll(in.data(), sent, out.data(), received, After(kPatience)).ok());
    const size_t own = group.rank() == 0 ? part : rest;
    const unsigned char first = group.rank() == 0 ? mine : other;
    const unsigned char second = group.rank() == 0 ? other : mine;
    EXPECT_TRUE(out == Concatenated({Bytes(own, first), Bytes(kBytes - own, second)}));
  });
}

TEST(HostOperations, ListsOfOtherSizesAreRefusedAndTheGroupGoesOn) {
  InThreads(2, [](HostGroup& group) {
    char in[8] = {}, out[8] = {};
    const std::vector<size_t> three = {1, 1, 1}, two = {1, 1};
    const Deadline deadline = After(kPatience);
    for (const Status& wrong :
         {group.AllGather(in, out, three, deadline), group.Broadcast(in, 1, 2, deadline),
          group.Broadcast(in, 1, -1, deadline),
          group.ReduceScatter(in, out, three, DataType::kUint8, ReduceOp::kSum, deadline),
          group.AllToAll(in, three, out, two, deadline),
          group.AllToAll(in, two, out, three, deadline)}) {
      EXPECT_EQ(wrong.code(), Code::kInvalidArgument);
    }
    EXPECT_EQ(group.AllGather(in, out, three, deadline).message(),
              "bytes are of 3 ranks, and the group has 2");
    EXPECT_TRUE(group.AllGather(in, out, two, deadline).ok());
  });
}

/// Nothing is written where it has no room.
TEST(HostOperations, MoreOfARankThanItShouldSend) {
  InThreads(2, [](HostGroup& group) {
    Bytes in(6, 1), out(6, 0);
    const std::vector<size_t> sent =
        group.rank() == 0 ? std::vector<size_t>{1, 5} : std::vector<size_t>{1, 1};
    const Status done = group.AllToAll(in.data(), sent, out.data(), {1, 1}, After(kPatience));
    if (group.rank() == 0) return;
    EXPECT_EQ(done.code(), Code::kInternal);
    EXPECT_EQ(done.message(), "rank 0 sends another number of bytes than is expected of it");
    EXPECT_EQ(out[0], 0);
  });
}

/// By its number, with as much data as it takes for it to be killed in the middle.
Status RunOperation(HostGroup& group, int what, Bytes& in, Bytes& out) {
  const size_t bytes = in.size() / 3;
  const std::vector<size_t> each(3, bytes);
  const Deadline deadline = After(kPatience);
  switch (what) {
    case 0:
      return group.AllGather(in.data(), out.data(), each, deadline);
    case 1:
      return group.Broadcast(in.data(), bytes, 1, deadline);
    case 2:
      return group.ReduceScatter(in.data(), out.data(), each, DataType::kUint8, ReduceOp::kSum,
                                 deadline);
    case 3:
      return group.AllToAll(in.data(), each, out.data(), each, deadline);
    default:
      return group.AllReduce(in.data(), out.data(), bytes, DataType::kUint8, ReduceOp::kSum,
                             deadline);
  }
}

/// Rank 1 of three, as soon as it has come to the middle of an operation.
TEST(HostOperations, AKilledProcess) {
  Bytes in(3 * 40 * kPieceBytes), out(in.size());
  for (int what = 0; what < 5; ++what) {
    const auto memory = MemoryFor(3);
    const auto& line = reinterpret_cast<HostMemory*>(memory->data())->Of(1).line;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto group = Join(memory, 1, 3);
      std::thread end([&] {
        if (!Eventually([&] { return line.copied.load() >= 15; })) _exit(2);
        kill(getpid(), SIGKILL);
      });
      while (RunOperation(*group, what, in, out).ok()) continue;
      _exit(1);
    }
    const auto first = Join(memory, 0, 3);
    std::thread reaper([&] {
      int status = 0;
      EXPECT_EQ(waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFSIGNALED(status)) << what;
      first->Fail(1);
    });
    std::thread third([&] {
      const auto group = Join(memory, 2, 3);
      Bytes own_in(in.size()), own_out(in.size());
      Status ended;
      while (ended.ok()) ended = RunOperation(*group, what, own_in, own_out);
      EXPECT_EQ(ended.message(), "rank 1 of this host has ended");
    });
    Status ended;
    while (ended.ok()) ended = RunOperation(*first, what, in, out);
    third.join();
    reaper.join();
    EXPECT_EQ(ended.code(), Code::kAborted);
    EXPECT_EQ(ended.message(), "rank 1 of this host has ended");
  }
}

}  // namespace
}  // namespace tony::collective
