// Tests which ranks keep others waiting, as data and as text.
#include "core/rendezvous/rendezvous_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::core {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

class RendezvousProgressTest : public ::testing::Test {
 protected:
  void Begin(const std::vector<HostSlots>& hosts, int processes) {
    const auto plan = PlanSlots(hosts, processes);
    ASSERT_TRUE(plan.ok()) << plan.status();
    store_.Begin(*plan);
  }
  void Put(const std::string& scope, const std::string& key, size_t size = 1) {
    ASSERT_TRUE(
        store_.Put(scope, key, std::make_shared<const std::string>(std::string(size, 'x'))).ok());
  }
  /// Names and addresses of all.
  void PutAll(const std::string& scope, int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      Put(scope, NameKey(rank));
      Put(scope, std::to_string(rank), size_t{136} * static_cast<size_t>(ranks - 1));
    }
  }
  void RemoveAll(const std::string& scope, int ranks) {
    for (int rank = 0; rank < ranks; ++rank) store_.Remove(scope, std::to_string(rank));
  }
  void Complete(const std::string& scope, int ranks) {
    PutAll(scope, ranks);
    RemoveAll(scope, ranks);
  }
  RendezvousWait Wait() const {
    std::vector<std::string> tasks;
    for (size_t rank = 0; rank < store_.plan().size(); ++rank) {
      tasks.push_back("worker:" + std::to_string(rank));
    }
    return DescribeMissing(ProgressOf(store_), tasks);
  }
  std::string Missing() const { return Wait().sentence; }

  RendezvousStore store_{StoreLimits::For(512)};
};

TEST_F(RendezvousProgressTest, NoRoundNoWait) {
  EXPECT_TRUE(ProgressOf(store_).empty());
  EXPECT_EQ(Missing(), "");
}

TEST_F(RendezvousProgressTest, NobodyWaitsBeforeTheFirstOrAfterTheLast) {
  Begin({{"a", 2}}, 2);
  EXPECT_FALSE(SomebodyWaits(ProgressOf(store_)));
  Put("global", "rank_1");
  EXPECT_TRUE(SomebodyWaits(ProgressOf(store_)));
  Complete("global", 2);
  // Each goes on with its host, though nobody has begun with it.
  EXPECT_TRUE(SomebodyWaits(ProgressOf(store_)));
  Put("local_a", "rank_0");
  EXPECT_TRUE(SomebodyWaits(ProgressOf(store_)));
  Complete("local_a", 2);
  Complete("cross_0", 1);
  Complete("cross_1", 1);
  EXPECT_FALSE(SomebodyWaits(ProgressOf(store_)));
}

TEST_F(RendezvousProgressTest, StepsOfEachRank) {
  Begin({{"a", 2}, {"b", 2}}, 4);
  Put("global", "rank_1");
  PutAll("global", 1);
  Put("global", "rank_3");
  Put("global", "3");
  store_.Remove("global", "3");
  const std::vector<ScopeProgress> progress = ProgressOf(store_);
  std::vector<std::string> scopes;
  for (const ScopeProgress& scope : progress) scopes.push_back(scope.scope);
  EXPECT_EQ(scopes,
            (std::vector<std::string>{"global", "local_a", "local_b", "cross_0", "cross_1"}));
  std::vector<RankStep> steps;
  for (const RankProgress& rank : progress[0].ranks) steps.push_back(rank.step);
  EXPECT_EQ(steps, (std::vector<RankStep>{RankStep::kListening, RankStep::kNamed, RankStep::kAbsent,
                                          RankStep::kConnected}));
  EXPECT_EQ(progress[2].ranks[1].slot.rank, 3);
  EXPECT_EQ(progress[2].ranks[1].key, 1);
  EXPECT_EQ(progress[3].ranks[1].slot.rank, 2);
  EXPECT_EQ(progress[3].ranks[1].key, 1);
}

TEST_F(RendezvousProgressTest, NamesRankHostAndMissingKey) {
  Begin({{"a", 2}, {"b", 2}}, 4);
  EXPECT_EQ(
      Missing(),
      "4 of 4 ranks have not put their addresses into 'global': worker:0 (rank 0 on a) has put "
      "nothing, worker:1 (rank 1 on a) has put nothing, worker:2 (rank 2 on b) has put "
      "nothing, worker:3 (rank 3 on b) has put nothing");
  PutAll("global", 3);
  EXPECT_EQ(Missing(),
            "1 of 4 ranks has not put its addresses into 'global': worker:3 (rank 3 on b) has put "
            "nothing");
  EXPECT_EQ(Wait().missing, std::vector<std::string>{"worker:3"});
  Put("global", "rank_3");
  EXPECT_THAT(Missing(), EndsWith(": worker:3 (rank 3 on b) has put rank_3 but not 3"));
}

TEST_F(RendezvousProgressTest, AddressesAreThereButNotConnections) {
  Begin({{"a", 1}, {"b", 1}}, 2);
  PutAll("global", 2);
  store_.Remove("global", "0");
  EXPECT_EQ(Missing(),
            "1 of 2 ranks has not connected to all others of 'global', whose addresses are there: "
            "worker:1 (rank 1 on b)");
  EXPECT_EQ(Wait().missing, std::vector<std::string>{"worker:1"});
}

TEST_F(RendezvousProgressTest, TheFirstStageThatIsNotComplete) {
  Begin({{"a", 2}, {"b", 2}}, 4);
  Complete("global", 4);
  EXPECT_THAT(Missing(), HasSubstr("'local_a'"));
  EXPECT_EQ(Wait().missing,
            (std::vector<std::string>{"worker:0", "worker:1", "worker:2", "worker:3"}));
  EXPECT_THAT(Missing(), HasSubstr("; 2 of 2 ranks have not put their addresses into 'local_b'"));
  Complete("local_b", 2);
  EXPECT_THAT(Missing(), Not(HasSubstr("local_b")));
  Complete("local_a", 2);
  Complete("cross_0", 2);
  PutAll("cross_1", 1);
  EXPECT_EQ(Missing(),
            "1 of 2 ranks has not put its addresses into 'cross_1': worker:3 (rank 3 on b) has put "
            "nothing");
  Complete("cross_1", 2);
  EXPECT_EQ(Missing(), "");
}

TEST_F(RendezvousProgressTest, AScopeInUseAgainIsNotComplete) {
  Begin({{"a", 2}}, 2);
  Complete("global", 2);
  Complete("local_a", 2);
  Complete("cross_0", 1);
  Complete("cross_1", 1);
  EXPECT_EQ(Missing(), "");
  Put("global", "rank_0");
  EXPECT_THAT(Missing(), HasSubstr("2 of 2 ranks have not put their addresses into 'global'"));
}

TEST_F(RendezvousProgressTest, TheSetOfAllProcesses) {
  Begin({{"a", 3}}, 3);
  Complete("global", 3);
  Complete("local_a", 3);
  for (const std::string scope : {"cross_0", "cross_1", "cross_2"}) Complete(scope, 1);
  const std::string scope = "global_process_set_hash_2a";
  Put(scope, "0", size_t{136} * 2);
  Put(scope, "1", size_t{136} * 2);
  EXPECT_EQ(Missing(),
            "1 of 3 ranks has not put its addresses into 'global_process_set_hash_2a': worker:2 "
            "(rank 2 on a) has put nothing");
  Put(scope, "2", size_t{136} * 2);
  store_.Remove(scope, "2");
  EXPECT_THAT(Missing(), HasSubstr("2 of 3 ranks have not connected to all others"));
  RemoveAll(scope, 3);
  EXPECT_EQ(Missing(), "");
  // A set of two of the three: who they are is not known here.
  Put("global_process_set_hash_2b", "0", 136);
  EXPECT_EQ(Missing(), "");
}

TEST_F(RendezvousProgressTest, SentencesEnd) {
  std::vector<HostSlots> hosts;
  for (int i = 0; i < 64; ++i) hosts.push_back({"host-" + std::to_string(i), 8});
  Begin(hosts, 512);
  EXPECT_THAT(Missing(), EndsWith(" has put nothing, and 504 more"));
  EXPECT_LT(Missing().size(), 1000U);
  EXPECT_EQ(Wait().missing.size(), 512U) << "as data";
  Complete("global", 512);
  EXPECT_THAT(Missing(), EndsWith("; 61 scopes more"));
  EXPECT_LT(Missing().size(), 3000U);
  EXPECT_EQ(Wait().missing.size(), 512U);
}

}  // namespace
}  // namespace tony::core
