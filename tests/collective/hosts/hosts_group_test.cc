// Ranks of several hosts, of which some share memory: all on this machine, told apart by name.
#include "collective/hosts/hosts_group.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/collective/group_operations.h"
#include "tests/collective/hosts/hosts_ranks.h"

namespace tony::collective {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

const std::vector<HostTable> kTables = {
    {{0, 1}, {2, 3}},          // equal
    {{0, 2}, {1, 3}},          // taking turns
    {{0}, {1, 2}},             // one alone
    {{0, 1, 4}, {2, 3}},       // unequal
    {{0, 1}, {2, 3}, {4, 5}},  // three
    {{0, 5}, {1}, {2, 3, 4}},  // all of it
};

class HostsGroupTest : public ::testing::TestWithParam<size_t> {};

TEST_P(HostsGroupTest, AnyVectorsOneAfterTheOther) {
  const HostTable& hosts = kTables[GetParam()];
  InHosts(hosts, [&](HostsGroup& group) {
    // Each type with each reduction: 13 and 4 have no common divisor.
    constexpr int kSteps = kDataTypes * kReduceOps;
    for (int number = 0; number < kSteps && !::testing::Test::HasFailure(); ++number) {
      std::mt19937 random(static_cast<unsigned>(number));
      const auto type = static_cast<DataType>(number % kDataTypes);
      const auto op = static_cast<ReduceOp>(number % kReduceOps);
      const size_t count = random() % (size_t{1} << (random() % 21)) / SizeOf(type);
      std::vector<Bytes> inputs;
      for (int rank = 0; rank < group.ranks(); ++rank) {
        inputs.push_back(RandomVector(count, type, random));
      }
      const Bytes& in = inputs[static_cast<size_t>(group.rank())];
      Bytes out = in;
      const Status done = group.AllReduce(number / 4 % 2 == 0 ? out.data() : in.data(), out.data(),
                                          count, type, op, After(kPatience));
      ASSERT_TRUE(done.ok()) << done.message();
      ASSERT_TRUE(out == ReferenceByHosts(inputs, hosts, type, op))
          << "step " << number << ", rank " << group.rank() << ", " << NameOf(op) << " of " << count
          << " " << NameOf(type);
    }
  });
}

/// Also of one host alone, as a process set may be.
TEST(FusedHostsGroupTest, TensorsThatLieInSeveralPlaces) {
  std::vector<HostTable> tables = kTables;
  tables.push_back({{0, 1, 2}});
  for (const HostTable& hosts : tables) {
    InHosts(hosts, [&](HostsGroup& group) {
      for (const size_t count : {3U, 70000U}) {
        const auto mine = static_cast<float>(group.rank() + 1);
        const std::vector<float> in(count, mine);
        std::vector<float> out(count);
        std::vector<float> in_place(5, 2 * mine);
        const Fusion fusion({{.in = in.data(), .out = out.data(), .count = count},
                             {.in = nullptr, .out = nullptr, .count = 2},
                             {.in = in_place.data(), .out = in_place.data(), .count = 5}},
                            DataType::kFloat32, 4, 0.5);
        const Status done = group.AllReduceFused(fusion, ReduceOp::kSum, After(kPatience));
        ASSERT_TRUE(done.ok()) << done.message();
        const auto ranks = static_cast<float>(group.ranks());
        const float sum = ranks * (ranks + 1) / 2 * 4 * 0.5F;
        EXPECT_EQ(out, std::vector<float>(count, sum));
        EXPECT_EQ(in_place, std::vector<float>(5, 2 * sum));
      }
    });
  }
}

/// With points so low that short vectors take every way too.
TEST_P(HostsGroupTest, AnyOperations) {
  const HostTable& hosts = kTables[GetParam()];
  const SwitchPoints low = {.whole_bytes = 1000,
                            .direct_ranks = 2,
                            .scatter_bytes = 500,
                            .piece_bytes = 4096,
                            .window_bytes = 100000,
                            .rails_bytes = 300};
  for (const SwitchPoints& points : {SwitchPoints{}, low}) {
    const std::vector<size_t> edges = {points.rails_bytes, points.scatter_bytes,
                                       points.rails_bytes * 2, points.piece_bytes};
    const auto reference = [&](const std::vector<Bytes>& inputs, DataType type, ReduceOp op) {
      return ReferenceByHosts(inputs, hosts, type, op);
    };
    InHosts(
        hosts,
        [&](HostsGroup& group) {
          for (int number = 0; number < GroupOperation::kAll && !::testing::Test::HasFailure();
               ++number) {
            if (number % 10 == 9) {
              ASSERT_TRUE(group.Barrier(After(kPatience)).ok());
            }
            GroupOperation(number, group.ranks(), edges, reference).Run(group);
          }
        },
        points);
  }
}

/// The caller's mistakes, which end nothing: all ranks make them alike.
TEST_P(HostsGroupTest, ListsOfAnotherLengthAreRefused) {
  InHosts(kTables[GetParam()], [](HostsGroup& group) {
    const std::vector<size_t> wrong(static_cast<size_t>(group.ranks()) + 1, 1);
    const std::vector<size_t> right(static_cast<size_t>(group.ranks()), 1);
    Bytes in(100);
    Bytes out(100);
    const Deadline deadline = After(kPatience);
    const std::vector<Status> refused = {
        group.AllGather(in.data(), out.data(), wrong, deadline),
        group.ReduceScatter(in.data(), out.data(), wrong, DataType::kUint8, ReduceOp::kSum,
                            deadline),
        group.AllToAll(in.data(), wrong, out.data(), right, deadline),
        group.AllToAll(in.data(), right, out.data(), wrong, deadline)};
    for (const Status& one : refused) EXPECT_EQ(one.code(), Code::kInvalidArgument);
    const Status done = group.AllGather(in.data(), out.data(), right, deadline);
    EXPECT_TRUE(done.ok()) << done.message();
  });
}

INSTANTIATE_TEST_SUITE_P(Tables, HostsGroupTest, ::testing::Range(size_t{0}, kTables.size()),
                         ::testing::PrintToStringParamName());

Status CountRanks(Group& group, Deadline deadline = After(kPatience)) {
  double value = 1;
  Status done = group.AllReduce(&value, &value, 1, DataType::kFloat64, ReduceOp::kSum, deadline);
  EXPECT_TRUE(!done.ok() || value == group.ranks()) << value;
  return done;
}

TEST(HostsGroupBarrier, NobodyGoesOnBeforeAllHaveCome) {
  std::atomic<int> came{0};
  InHosts(kTables[3], [&](HostsGroup& group) {
    for (int round = 1; round <= 50; ++round) {
      came.fetch_add(1);
      const Status done = group.Barrier(After(kPatience));
      ASSERT_TRUE(done.ok()) << done.message();
      EXPECT_GE(came.load(), group.ranks() * round);
      ASSERT_TRUE(group.Barrier(After(kPatience)).ok());
    }
  });
}

/// A rank of the second host: whoever waits in memory and whoever waits for TCP. One of each host
/// is told, as LinkMembers is.
TEST(HostsGroupFailure, AllThatWaitAreTold) {
  for (const int teller : {0, 1}) {
    InHosts(kTables[0], [&](HostsGroup& group) {
      ASSERT_TRUE(CountRanks(group).ok());
      if (group.rank() == 3) return;  // it lives, and does nothing
      std::thread telling;
      if (group.rank() == teller || group.rank() == 2)
        telling = std::thread([&] { group.Fail(3); });
      const Status ended = CountRanks(group);
      if (telling.joinable()) telling.join();
      EXPECT_EQ(ended.code(), Code::kAborted);
      EXPECT_EQ(ended.message(), "rank 3 has ended") << group.rank();
      EXPECT_EQ(group.Barrier(After(kPatience)).message(), ended.message());
    });
  }
}

/// As above, in operations that each rank enters with something else.
TEST(HostsGroupFailure, AllThatWaitInOtherOperationsAreTold) {
  using Call = std::function<Status(HostsGroup&, Bytes&, Bytes&)>;
  const std::vector<size_t> each(4, 200000);
  const std::vector<Call> calls = {
      [&](HostsGroup& group, Bytes& in, Bytes& out) {
        return group.AllGather(in.data(), out.data(), each, After(kPatience));
      },
      [&](HostsGroup& group, Bytes& in, Bytes& out) {
        return group.ReduceScatter(in.data(), out.data(), each, DataType::kUint8, ReduceOp::kMax,
                                   After(kPatience));
      },
      [&](HostsGroup& group, Bytes& in, Bytes& out) {
        return group.AllToAll(in.data(), each, out.data(), each, After(kPatience));
      }};
  for (const Call& call : calls) {
    std::barrier first_done(4);
    InHosts(kTables[0], [&](HostsGroup& group) {
      Bytes in(800000);
      Bytes out(800000);
      const Status first = call(group, in, out);
      // No rank is told while another one is still fetching.
      first_done.arrive_and_wait();
      ASSERT_TRUE(first.ok()) << first.message();
      if (group.rank() == 3) return;
      std::thread telling;
      if (group.rank() == 0 || group.rank() == 2) telling = std::thread([&] { group.Fail(3); });
      const Status ended = call(group, in, out);
      if (telling.joinable()) telling.join();
      EXPECT_EQ(ended.code(), Code::kAborted);
      EXPECT_EQ(ended.message(), "rank 3 has ended") << group.rank();
    });
  }
}

TEST(HostsGroupFailure, WhoIsWaitedForIsNamed) {
  InHosts(kTables[0], [](HostsGroup& group) {
    ASSERT_TRUE(CountRanks(group).ok());
    if (group.rank() == 3) return;
    const Status late = CountRanks(group, After(std::chrono::milliseconds(100)));
    EXPECT_EQ(late.code(), Code::kDeadlineExceeded) << late.message();
    if (group.rank() == 0) {
      EXPECT_EQ(late.message().rfind("rank 2 has not come in ", 0), 0U) << late.message();
    }
    if (group.rank() == 2) {
      EXPECT_EQ(late.message().rfind("rank 1 of this host has not come in ", 0), 0U)
          << late.message();
      EXPECT_NE(late.message().find("(this host's are the job's ranks 2, 3)"), std::string::npos);
    }
  });
}

TEST(HostsGroupFailure, ARankThatLeavesDoesNotDisturbWhoFetches) {
  for (int round = 0; round < 20; ++round) {
    InHosts(kTables[0], [](HostsGroup& group) {
      const Status done = CountRanks(group);
      EXPECT_TRUE(done.ok()) << done.message();
      if (group.rank() == 1) return group.Leave();
      const Status ended = CountRanks(group);
      EXPECT_FALSE(ended.ok());
      if (group.rank() != 0) return;
      EXPECT_EQ(ended.message(), "rank 1 has left");
      group.Fail(1);
    });
  }
}

}  // namespace
}  // namespace tony::collective
