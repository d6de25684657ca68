// Ranks that are connected by TCP: any operations, deadlines, and processes that are killed.
#include "collective/net/net_group.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <string>
#include <vector>

#include "tests/collective/group_operations.h"
#include "tests/collective/net/net_ranks.h"

namespace tony::collective {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kPatience = seconds(60);

/// So small that short vectors take every way too.
constexpr SwitchPoints kLow = {.whole_bytes = 1000,
                               .direct_ranks = 3,
                               .scatter_bytes = 500,
                               .piece_bytes = 4096,
                               .window_bytes = 100000,
                               .rails_bytes = 1000};

class NetGroupTest : public ::testing::TestWithParam<int> {};

TEST_P(NetGroupTest, AnyOneAfterTheOther) {
  const auto ranks = static_cast<size_t>(GetParam());
  for (const auto& [points, wire_mac] :
       {std::pair{SwitchPoints{}, false}, {kLow, false}, {kLow, true}}) {
    const std::vector<size_t> edges = {points.whole_bytes / ranks, points.whole_bytes,
                                       points.scatter_bytes,       points.piece_bytes,
                                       points.piece_bytes * ranks, 3 * points.piece_bytes * ranks,
                                       NetMesh::kUnitBytes,        NetMesh::kUnitBytes * 3};
    InMesh(
        GetParam(),
        [&, points = points](const std::shared_ptr<NetMesh>& mesh) {
          NetGroup group = GroupOfAll(mesh, points);
          for (int number = 0; number < GroupOperation::kAll && !::testing::Test::HasFailure();
               ++number) {
            GroupOperation(number, group.ranks(), edges).Run(group);
          }
        },
        /*streams=*/2, wire_mac);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, NetGroupTest, ::testing::Values(1, 2, 3, 4, 5, 9),
                         ::testing::PrintToStringParamName());

/// Each size around the places where another way is taken, of each number of streams.
TEST(NetGroupSizes, EachEdge) {
  constexpr int kRanks = 3;
  const SwitchPoints points;
  std::vector<size_t> sizes = {0, 1, 2, 63, 64, 65};
  for (const size_t edge : {points.whole_bytes / 2, points.whole_bytes, points.piece_bytes,
                            3 * points.piece_bytes, 9 * points.piece_bytes}) {
    for (const size_t size : {edge - 1, edge, edge + 1}) sizes.push_back(size);
  }
  for (const int streams : {1, 2, 5}) {
    InMesh(
        kRanks,
        [&](const std::shared_ptr<NetMesh>& mesh) {
          NetGroup group = GroupOfAll(mesh);
          for (const size_t size : sizes) {
            const Bytes in(size, static_cast<unsigned char>(group.rank() + 1));
            Bytes out(size + 1, 0xee);
            const Status done = group.AllReduce(in.data(), out.data(), size, DataType::kUint8,
                                                ReduceOp::kSum, After(kPatience));
            ASSERT_TRUE(done.ok()) << done.message();
            EXPECT_EQ(out.back(), 0xee);
            out.pop_back();
            EXPECT_TRUE(out == Bytes(size, 1 + 2 + 3)) << size;
          }
        },
        streams);
  }
}

/// More than sockets hold, many times.
TEST(NetGroupSizes, LargeOnes) {
  constexpr size_t kCount = (size_t{40} << 20) / sizeof(float) + 5;
  const auto sum = [&](const std::shared_ptr<NetMesh>& mesh) {
    NetGroup group = GroupOfAll(mesh);
    std::vector<float> vector(kCount, static_cast<float>(group.rank() + 1));
    const Status done = group.AllReduce(vector.data(), vector.data(), kCount, DataType::kFloat32,
                                        ReduceOp::kSum, After(kPatience));
    ASSERT_TRUE(done.ok()) << done.message();
    EXPECT_TRUE(vector == std::vector<float>(kCount, 3.0F));
  };
  for (const bool wire_mac : {false, true}) InMesh(2, sum, /*streams=*/2, wire_mac);
}

TEST(NetGroupBarrier, NobodyGoesOnBeforeAllHaveCome) {
  for (const int ranks : {2, 3, 5}) {
    std::atomic<int> came{0};
    InMesh(ranks, [&](const std::shared_ptr<NetMesh>& mesh) {
      NetGroup group = GroupOfAll(mesh);
      for (int round = 1; round <= 50; ++round) {
        came.fetch_add(1);
        const Status done = group.Barrier(After(kPatience));
        ASSERT_TRUE(done.ok()) << done.message();
        EXPECT_GE(came.load(), ranks * round);
        ASSERT_TRUE(group.Barrier(After(kPatience)).ok());
      }
    });
  }
}

TEST(NetGroupLists, ThoseOfOtherSizesAreRefusedAndTheGroupGoesOn) {
  InMesh(2, [](const std::shared_ptr<NetMesh>& mesh) {
    NetGroup group = GroupOfAll(mesh);
    char in[8] = {};
    char out[8] = {};
    const std::vector<size_t> three = {1, 1, 1};
    const std::vector<size_t> two = {1, 1};
    const Deadline deadline = After(kPatience);
    for (const Status& wrong :
         {group.AllGather(in, out, three, deadline), group.Broadcast(in, 1, 2, deadline),
          group.Broadcast(in, 1, -1, deadline),
          group.ReduceScatter(in, out, three, DataType::kUint8, ReduceOp::kSum, deadline),
          group.AllToAll(in, three, out, two, deadline),
          group.AllToAll(in, two, out, three, deadline),
          group.AllToAll(in, {1, 2}, out, {2, 1}, deadline)}) {
      EXPECT_EQ(wrong.code(), Code::kInvalidArgument);
    }
    EXPECT_TRUE(group.AllGather(in, out, two, deadline).ok());
  });
}

/// The sum of all ranks' ones.
Status CountRanks(Group& group, Deadline deadline = After(kPatience)) {
  double value = 1;
  Status done = group.AllReduce(&value, &value, 1, DataType::kFloat64, ReduceOp::kSum, deadline);
  EXPECT_TRUE(!done.ok() || value == group.ranks()) << value;
  return done;
}

TEST(NetGroupFailure, ARankThatDoesNotComeIsNamed) {
  InMesh(3, [](const std::shared_ptr<NetMesh>& mesh) {
    NetGroup group = GroupOfAll(mesh);
    if (group.rank() == 2) return;
    const Status late = CountRanks(group, After(milliseconds(100)));
    EXPECT_EQ(late.code(), Code::kDeadlineExceeded);
    EXPECT_EQ(late.message().rfind("rank 2 has not come in ", 0), 0U) << late.message();
    // The ranks' positions are unknown now, so the group stays failed.
    EXPECT_EQ(CountRanks(group).message(), late.message());
    EXPECT_EQ(group.Barrier(After(kPatience)).message(), late.message());
  });
}

/// A long operation is no late one: each step has as long as the whole was given.
TEST(NetGroupFailure, WhoMovesIsNotLate) {
  InMesh(2, [](const std::shared_ptr<NetMesh>& mesh) {
    NetGroup group = GroupOfAll(mesh);
    const Deadline past(std::chrono::steady_clock::now(), kPatience);
    EXPECT_TRUE(CountRanks(group, past).ok());
    Bytes much(size_t{8} << 20);
    EXPECT_TRUE(group.Broadcast(much.data(), much.size(), 0, past).ok());
    if (group.rank() == 1) return;
    EXPECT_EQ(CountRanks(group, std::chrono::steady_clock::now()).code(), Code::kDeadlineExceeded);
  });
}

/// Also of what is only to be sent: nobody takes it.
TEST(NetGroupFailure, ARankThatTakesNothingIsNamed) {
  InMesh(2, [](const std::shared_ptr<NetMesh>& mesh) {
    NetGroup group = GroupOfAll(mesh);
    if (group.rank() == 1) return;
    Bytes much(size_t{64} << 20);
    const Status late = group.Broadcast(much.data(), much.size(), 0, After(seconds(1)));
    EXPECT_EQ(late.code(), Code::kDeadlineExceeded);
    EXPECT_EQ(late.message().rfind("rank 1 has not come in ", 0), 0U) << late.message();
  });
}

TEST(NetGroupFailure, AllThatWaitAreTold) {
  InMesh(4, [](const std::shared_ptr<NetMesh>& mesh) {
    NetGroup group = GroupOfAll(mesh);
    ASSERT_TRUE(CountRanks(group).ok());
    if (group.rank() == 3) return;  // it lives, and does nothing
    std::thread telling;
    if (group.rank() == 1) telling = std::thread([&] { group.Fail(3); });
    const Status ended = CountRanks(group);
    if (telling.joinable()) telling.join();
    EXPECT_EQ(ended.code(), Code::kAborted);
    EXPECT_EQ(ended.message(), "rank 3 has ended");
  });
}

TEST(NetGroupFailure, ARankThatLeavesDoesNotDisturbWhoFetches) {
  constexpr size_t kBytes = size_t{2} << 20;
  for (int round = 0; round < 20; ++round) {
    InMesh(3, [](const std::shared_ptr<NetMesh>& mesh) {
      NetGroup group = GroupOfAll(mesh);
      Bytes vector(kBytes, 1);
      const Status done = group.AllReduce(vector.data(), vector.data(), kBytes, DataType::kUint8,
                                          ReduceOp::kSum, After(kPatience));
      EXPECT_TRUE(done.ok()) << done.message();
      EXPECT_TRUE(vector == Bytes(kBytes, 3));
      if (group.rank() == 0) return group.Leave();
      // A rank that asks for more is told at once that nothing will come.
      const Status ended = CountRanks(group);
      EXPECT_EQ(ended.code(), Code::kAborted);
      EXPECT_EQ(ended.message(), "rank 0 has left");
    });
  }
}

/// A rank whose connections close without a word has ended.
TEST(NetGroupFailure, ARankWithoutAWord) {
  NetAcceptors acceptors(2);
  auto other = std::async(std::launch::async, [&] { (void)acceptors.Mesh(1); });
  const auto mesh = acceptors.Mesh(0);
  NetGroup group = GroupOfAll(mesh);
  const Status ended = CountRanks(group);
  EXPECT_EQ(ended.code(), Code::kAborted);
  EXPECT_EQ(ended.message(), "rank 1 has ended");
}

/// A process that is killed in the middle of an operation: the others are told at once.
TEST(NetGroupFailure, AKilledProcess) {
  constexpr int kRanks = 3;
  constexpr size_t kBytes = size_t{8} << 20;
  for (int victim = 0; victim < kRanks; ++victim) {
    NetAcceptors acceptors(kRanks);
    std::vector<pid_t> processes;
    for (int rank = 0; rank < kRanks; ++rank) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        const auto mesh = acceptors.Mesh(rank);
        if (mesh == nullptr) _exit(1);
        NetGroup group = GroupOfAll(mesh);
        Bytes vector(kBytes, 1);
        Status ended;
        std::thread killer;
        for (int step = 0; ended.ok(); ++step) {
          if (rank == victim && step == 3) {
            // Meanwhile the data thread goes on with the operation.
            killer = std::thread([] { kill(getpid(), SIGKILL); });
          }
          ended = group.AllReduce(vector.data(), vector.data(), kBytes, DataType::kUint8,
                                  ReduceOp::kMax, After(kPatience));
        }
        group.Leave();  // an end without it would be taken for one more failure
        const std::string wanted = "rank " + std::to_string(victim) + " has ended";
        _exit(ended.code() == Code::kAborted && ended.message() == wanted ? 0 : 2);
      }
      processes.push_back(child);
    }
    const auto begin = std::chrono::steady_clock::now();
    for (int rank = 0; rank < kRanks; ++rank) {
      int status = 0;
      const pid_t process = processes[static_cast<size_t>(rank)];
      ASSERT_EQ(waitpid(process, &status, 0), process);
      EXPECT_TRUE(rank == victim || status == 0) << "rank " << rank << ", victim " << victim;
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kPatience / 2) << "not at once";
  }
}

}  // namespace
}  // namespace tony::collective
