// Groups of some of a group's ranks, and what is said where there can be none.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "collective/hosts/hosts_group.h"
#include "tests/collective/group_operations.h"
#include "tests/collective/host/host_ranks.h"
#include "tests/collective/net/net_ranks.h"

namespace tony::collective {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

/// As for a machine with limits of addresses.
std::shared_ptr<SharedMemory> MemoryWithoutArenas(int ranks) {
  auto memory = SharedMemory::Create(HostMemory::BytesFor(ranks));
  EXPECT_TRUE(memory.ok());
  reinterpret_cast<HostMemory*>((*memory)->data())->line.ranks = static_cast<uint32_t>(ranks);
  return std::move(*memory);
}

void InThreadsWith(const std::shared_ptr<SharedMemory>& memory, int ranks,
                   const std::function<void(HostGroup&)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { body(*Join(memory, rank, ranks)); });
  }
  for (std::thread& thread : threads) thread.join();
}

Status Sum(Group& group, float* value) {
  return group.AllReduce(value, value, 1, DataType::kFloat32, ReduceOp::kSum, After(kPatience));
}

/// The set's ranks by host, numbered within the set. The ranks of a host are added up first.
using HostsOf = std::function<HostTable(const std::vector<int>& members)>;

HostTable OneHost(const std::vector<int>& members) {
  HostTable one(1);
  for (size_t rank = 0; rank < members.size(); ++rank) one[0].push_back(static_cast<int>(rank));
  return one;
}

/// Ranks 0 and 2, and ranks 1 and 3.
HostTable TwoHosts(const std::vector<int>& members) {
  HostTable hosts(2);
  for (size_t rank = 0; rank < members.size(); ++rank) {
    hosts[static_cast<size_t>(members[rank] % 2)].push_back(static_cast<int>(rank));
  }
  std::erase(hosts, std::vector<int>());
  std::sort(hosts.begin(), hosts.end());
  return hosts;
}

/// Each set takes part in some operations, in one order for all.
void AnyOperationsOfSets(Group& all, const HostsOf& hosts_of = OneHost) {
  const std::vector<std::vector<int>> sets = {{0, 1}, {1, 2, 3}, {3}, {0, 2, 3}, {0, 1, 2, 3}};
  std::vector<std::unique_ptr<Group>> groups;
  for (const auto& members : sets) {
    auto group = all.Subgroup(members, After(kPatience));
    ASSERT_TRUE(group.ok()) << group.status().message();
    const auto found = std::find(members.begin(), members.end(), all.rank());
    ASSERT_EQ(*group != nullptr, found != members.end());
    if (*group != nullptr) {
      EXPECT_EQ((*group)->rank(), found - members.begin());
      EXPECT_EQ((*group)->ranks(), static_cast<int>(members.size()));
    }
    groups.push_back(std::move(*group));
  }
  for (int number = 0; number < 60 && !::testing::Test::HasFailure(); ++number) {
    const size_t set = static_cast<size_t>(number / 3) % sets.size();
    if (groups[set] == nullptr) continue;
    const auto reference = [&](const std::vector<Bytes>& inputs, DataType type, ReduceOp op) {
      return ReferenceByHosts(inputs, hosts_of(sets[set]), type, op);
    };
    GroupOperation(number, groups[set]->ranks(), {kSlotBytes, kPieceBytes}, reference)
        .Run(*groups[set]);
  }
  float one = 1;
  ASSERT_TRUE(Sum(all, &one).ok());
  EXPECT_EQ(one, all.ranks());
}

TEST(Subgroup, OfAHost) {
  InThreads(4, [](HostGroup& all) { AnyOperationsOfSets(all); });
}

TEST(Subgroup, OfAMesh) {
  InMesh(4, [](const std::shared_ptr<NetMesh>& mesh) {
    NetGroup all = GroupOfAll(mesh);
    AnyOperationsOfSets(all);
  });
}

void InTwoHosts(const std::shared_ptr<SharedMemory>& first,
                const std::shared_ptr<SharedMemory>& second,
                const std::function<void(Group&)>& body) {
  InMesh(4, [&](const std::shared_ptr<NetMesh>& mesh) {
    const int rank = mesh->rank();
    HostsGroup all(mesh, Join(rank % 2 == 0 ? first : second, rank / 2, 2), {{0, 2}, {1, 3}}, {});
    body(all);
  });
}

TEST(Subgroup, OfHosts) {
  InTwoHosts(MemoryFor(2), MemoryFor(2), [](Group& all) { AnyOperationsOfSets(all, TwoHosts); });
}

/// All take TCP for it.
TEST(Subgroup, OfHostsOfWhichOneHasNoArenas) {
  const auto hosts_of = [](const std::vector<int>& members) {
    const bool memory_is_needed =
        std::count_if(members.begin(), members.end(), [](int rank) { return rank % 2 == 1; }) > 1;
    return memory_is_needed ? OneHost(members) : TwoHosts(members);
  };
  InTwoHosts(MemoryFor(2), MemoryWithoutArenas(2),
             [&](Group& all) { AnyOperationsOfSets(all, hosts_of); });
}

TEST(Subgroup, WithoutArenasThereIsNoneAndTheGroupGoesOn) {
  InThreadsWith(MemoryWithoutArenas(3), 3, [](HostGroup& group) {
    for (int time = 0; time < 2; ++time) {
      const auto refused = group.Subgroup({1, 2}, After(kPatience));
      EXPECT_EQ(refused.status().code(), Code::kFailedPrecondition);
      EXPECT_EQ(refused.status().message(),
                "rank 1 has no addresses for the memory that a process set shares: its limit of "
                "addresses or of a file's size (ulimit -v, -f) is too low");
      float one = 1;
      ASSERT_TRUE(Sum(group, &one).ok());
      EXPECT_EQ(one, 3);
    }
  });
}

TEST(Subgroup, WithoutRoomThereIsNoneAndTheGroupGoesOn) {
  InThreads(3, [](HostGroup& group) {
    void* const all =
        group.rank() == 1 ? group.arena()->Allocate(kArenaBytes - (1 << 20)) : nullptr;
    EXPECT_EQ(all != nullptr, group.rank() == 1);
    const auto refused = group.Subgroup({1, 2}, After(kPatience));
    EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
    EXPECT_EQ(refused.status().message(),
              "rank 1 has no shared memory for a process set of 2 ranks: it takes 2 MiB");
    EXPECT_TRUE(group.Subgroup({0, 2}, After(kPatience)).ok());
    EXPECT_TRUE(group.arena()->Free(all));
    EXPECT_TRUE(group.Subgroup({1, 2}, After(kPatience)).ok());
  });
}

/// Its memory is taken again, with what others have written to it.
TEST(Subgroup, OneAfterTheOther) {
  InThreads(3, [](HostGroup& group) {
    void* place = nullptr;
    for (int round = 0; round < 50; ++round) {
      const std::vector<int> members = round % 2 == 0 ? std::vector{0, 1, 2} : std::vector{0, 2};
      auto made = group.Subgroup(members, After(kPatience));
      ASSERT_TRUE(made.ok()) << made.status().message();
      for (int time = 0; *made != nullptr && time <= round % 5; ++time) {
        std::vector<float> values(time % 2 == 0 ? 7 : 300000, 1);
        const Status done =
            (*made)->AllReduce(values.data(), values.data(), values.size(), DataType::kFloat32,
                               ReduceOp::kSum, After(kPatience));
        ASSERT_TRUE(done.ok()) << done.message();
        ASSERT_EQ(values, std::vector<float>(values.size(), static_cast<float>(members.size())));
      }
      ASSERT_TRUE(group.Barrier(After(kPatience)).ok());
      if (*made != nullptr) (*made)->Retire();
      if (group.rank() != 0) continue;
      // Where the last one was.
      void* const probe = group.arena()->Allocate(1);
      EXPECT_TRUE(place == nullptr || probe == place);
      place = probe;
      EXPECT_TRUE(group.arena()->Free(probe));
    }
  });
}

TEST(Subgroup, AFailureOfTheGroupEndsWaitsInIt) {
  InThreads(4, [](HostGroup& group) {
    auto made = group.Subgroup({1, 2}, After(kPatience));
    ASSERT_TRUE(made.ok());
    ASSERT_TRUE(group.Barrier(After(kPatience)).ok());
    // Told by a rank that does not belong to it.
    if (group.rank() == 0) group.Fail(3);
    if (group.rank() != 1) return;
    EXPECT_EQ((*made)->Barrier(After(kPatience)).message(), "rank 3 of this host has ended");
  });
}

TEST(Subgroup, WhoLeavesAndWhoIsLateAreNamedAsInTheGroup) {
  InThreads(4, [](HostGroup& group) {
    auto late = group.Subgroup({1, 3}, After(kPatience));
    auto left = group.Subgroup({2, 3}, After(kPatience));
    ASSERT_TRUE(late.ok() && left.ok());
    if (group.rank() == 2) group.Leave();
    if (group.rank() != 3) return;
    EXPECT_EQ((*left)->Barrier(After(kPatience)).message(), "rank 2 of this host has left");
    EXPECT_EQ((*late)
                  ->Barrier(After(std::chrono::milliseconds(50)))
                  .message()
                  .rfind("rank 1 of this host has not come in ", 0),
              0U);
  });
}

}  // namespace
}  // namespace tony::collective
