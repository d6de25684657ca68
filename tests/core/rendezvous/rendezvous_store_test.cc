// Scopes that end by counting, scopes that come and go, rounds, and limits.
#include "core/rendezvous/rendezvous_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::core {
namespace {

constexpr StoreLimits kRoom{.bytes = 1 << 20, .keys = 1000};

std::vector<Slot> Plan(const std::vector<HostSlots>& hosts, int processes) {
  const auto plan = PlanSlots(hosts, processes);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *plan;
}

Blob Bytes(const std::string& bytes) { return std::make_shared<const std::string>(bytes); }

/// The value, "-" if there is none.
std::string Get(const RendezvousStore& store, const std::string& scope, const std::string& key) {
  const Blob value = store.Get(scope, key);
  return value == nullptr ? "-" : *value;
}

void Put(RendezvousStore& store, const std::string& scope, const std::string& key,
         const std::string& value) {
  ASSERT_TRUE(store.Put(scope, key, Bytes(value)).ok());
}

TEST(RendezvousStore, TheLastPutCounts) {
  RendezvousStore store(kRoom);
  EXPECT_EQ(Get(store, "s", "k"), "-");
  Put(store, "s", "k", "one");
  Put(store, "s", "k", "two");
  Put(store, "t", "k", "");
  EXPECT_EQ(Get(store, "s", "k"), "two");
  EXPECT_EQ(Get(store, "t", "k"), "");
  EXPECT_EQ(Get(store, "s", "other"), "-");
  EXPECT_EQ(store.keys(), 2U);
  EXPECT_EQ(store.bytes(), std::string("sktwotk").size());
}

TEST(RendezvousStore, AValueIsNotCopied) {
  RendezvousStore store(kRoom);
  const Blob value = Bytes("v");
  ASSERT_TRUE(store.Put("s", "k", value).ok());
  EXPECT_EQ(store.Get("s", "k"), value);
}

TEST(RendezvousStore, ASizedScopeIsEmptiedWhenAllHaveFinished) {
  RendezvousStore store(kRoom);
  store.Begin(Plan({{"a", 2}}, 2));
  Put(store, "global", "rank_0", "h");
  Put(store, "global", "0", "zero");
  Put(store, "global", "1", "one");
  store.Remove("global", "0");
  EXPECT_EQ(Get(store, "global", "0"), "zero");  // others may still read it
  store.Remove("global", "1");
  EXPECT_EQ(Get(store, "global", "0"), "-");
  EXPECT_EQ(Get(store, "global", "rank_0"), "-");
  EXPECT_EQ(store.keys(), 0U);
  EXPECT_EQ(store.bytes(), 0U);
  // It still has its size: it can be used again.
  Put(store, "global", "0", "again");
  store.Remove("global", "0");
  EXPECT_EQ(Get(store, "global", "0"), "again");
  store.Remove("global", "1");
  EXPECT_EQ(Get(store, "global", "0"), "-");
}

TEST(RendezvousStore, AllSizedScopesOfAPlan) {
  RendezvousStore store(kRoom);
  store.Begin(Plan({{"a", 2}, {"b", 1}}, 3));
  std::vector<std::string> sizes;
  for (const auto& [name, scope] : store.scopes()) {
    sizes.push_back(name + "=" + std::to_string(scope->size));
  }
  EXPECT_EQ(sizes, (std::vector<std::string>{"cross_0=2", "cross_1=1", "global=3", "local_a=2",
                                             "local_b=1"}));
}

TEST(RendezvousStore, WhoFinishesTwiceIsCountedOnce) {
  RendezvousStore store(kRoom);
  store.Begin(Plan({{"a", 2}}, 2));
  Put(store, "global", "1", "one");
  store.Remove("global", "0");
  store.Remove("global", "0");
  EXPECT_EQ(Get(store, "global", "1"), "one");
}

TEST(RendezvousStore, OnlyRanksFinish) {
  RendezvousStore store(kRoom);
  store.Begin(Plan({{"a", 2}}, 2));
  Put(store, "global", "1", "one");
  for (const std::string key : {"0", "2", "00", "01", "rank_0", "-1", "", "99999999999", "1x"}) {
    store.Remove("global", key);
  }
  EXPECT_EQ(Get(store, "global", "1"), "one");
}

TEST(RendezvousStore, WhoPutsAgainHasNotFinished) {
  RendezvousStore store(kRoom);
  store.Begin(Plan({{"a", 2}}, 2));
  store.Remove("global", "0");
  Put(store, "global", "0", "restarted");
  store.Remove("global", "1");
  EXPECT_EQ(Get(store, "global", "0"), "restarted");
  store.Remove("global", "0");
  EXPECT_EQ(Get(store, "global", "0"), "-");
}

// Horovod's server forgets who has finished in all scopes when one of them ends.
TEST(RendezvousStore, TheEndOfAScopeMeansNothingToOthers) {
  RendezvousStore store(kRoom);
  store.Begin(Plan({{"a", 1}, {"b", 1}}, 2));
  Put(store, "global", "0", "zero");
  store.Remove("global", "0");
  store.Remove("local_a", "0");  // the end of that scope
  store.Remove("global", "1");
  EXPECT_EQ(Get(store, "global", "0"), "-");
}

TEST(RendezvousStore, AnAdHocScopeGoesWithItsLastAddress) {
  RendezvousStore store(kRoom);
  const std::string scope = "global_process_set_hash_1f";
  Put(store, scope, "rank_0", "h");
  Put(store, scope, "rank_1", "h");
  Put(store, scope, "0", "zero");
  Put(store, scope, "1", "one");
  store.Remove(scope, "0");
  EXPECT_EQ(Get(store, scope, "0"), "-");
  EXPECT_EQ(Get(store, scope, "1"), "one");
  store.Remove(scope, "0");  // a client that has not heard the answer
  EXPECT_EQ(Get(store, scope, "1"), "one");
  store.Remove(scope, "1");
  EXPECT_EQ(Get(store, scope, "rank_0"), "-");
  EXPECT_EQ(store.keys(), 0U);
  EXPECT_EQ(store.bytes(), 0U);
  EXPECT_TRUE(store.scopes().empty());
}

TEST(RendezvousStore, OtherKeysOfAnAdHocScopeAreJustRemoved) {
  RendezvousStore store(kRoom);
  Put(store, "worker_addresses", "a:0", "x");
  Put(store, "worker_addresses", "b:0", "y");
  store.Remove("worker_addresses", "a:0");
  EXPECT_EQ(Get(store, "worker_addresses", "a:0"), "-");
  EXPECT_EQ(Get(store, "worker_addresses", "b:0"), "y");
  store.Remove("worker_addresses", "b:0");
  EXPECT_TRUE(store.scopes().empty());
  EXPECT_EQ(store.bytes(), 0U);
}

TEST(RendezvousStore, RemovingWhatIsNotThereLeavesNothing) {
  RendezvousStore store(kRoom);
  store.Remove("s", "k");
  store.Remove("s", "0");
  EXPECT_TRUE(store.scopes().empty());
  EXPECT_EQ(store.keys(), 0U);
}

TEST(RendezvousStore, ANewRoundForgetsAllButWhatBelongsToTheJob) {
  RendezvousStore store(kRoom);
  store.Begin(Plan({{"a", 1}, {"b", 1}}, 2));
  Put(store, "global", "0", "zero");
  store.Remove("global", "0");
  Put(store, "worker_addresses", "a:0", "x");
  Put(store, "runfunc", "func", "f");
  Put(store, "runfunc_result", "0", "r");
  store.Begin(Plan({{"b", 1}, {"c", 1}}, 2));
  EXPECT_EQ(Get(store, "global", "0"), "-");
  EXPECT_EQ(Get(store, "worker_addresses", "a:0"), "-");
  EXPECT_EQ(Get(store, "runfunc", "func"), "f");
  EXPECT_EQ(Get(store, "runfunc_result", "0"), "r");
  EXPECT_FALSE(store.scopes().contains("local_a"));
  EXPECT_TRUE(store.scopes().contains("local_c"));
  EXPECT_EQ(store.keys(), 2U);
  // No rank has finished in this round.
  Put(store, "global", "0", "new");
  store.Remove("global", "1");
  EXPECT_EQ(Get(store, "global", "0"), "new");
}

TEST(RendezvousStore, BytesHaveALimit) {
  RendezvousStore store({.bytes = 10, .keys = 1000});
  Put(store, "s", "k", "12345678");
  const absl::Status status = store.Put("s", "l", Bytes(""));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("10 of at most 10 bytes"));
  EXPECT_EQ(Get(store, "s", "l"), "-");
  Put(store, "s", "k", "87654321");  // takes the place of the old one
  Put(store, "s", "k", "1");
  Put(store, "s", "l", "");
  store.Remove("s", "k");
  store.Remove("s", "l");
  Put(store, "s", "k", "12345678");
}

TEST(RendezvousStore, KeysHaveALimit) {
  RendezvousStore store({.bytes = 1000, .keys = 2});
  Put(store, "s", "k", "");
  Put(store, "t", "k", "");
  EXPECT_EQ(store.Put("u", "k", Bytes("")).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(store.scopes().contains("u"));
  Put(store, "t", "k", "again");
}

// Addresses that are removed one by one, and put under other keys, must not fill up the memory.
TEST(RendezvousStore, RemovedAddressesCountAsKeys) {
  RendezvousStore store({.bytes = 1000, .keys = 4});
  Put(store, "s", "0", "stays");
  for (const std::string key : {"1", "2", "3"}) {
    Put(store, "s", key, "v");
    store.Remove("s", key);
  }
  EXPECT_EQ(store.Put("s", "4", Bytes("")).code(), absl::StatusCode::kResourceExhausted);
}

TEST(RendezvousStore, LimitsHoldALargeJob) {
  constexpr int kRanks = 512;
  constexpr size_t kAddresses = size_t{136} * (kRanks - 1);
  RendezvousStore store(StoreLimits::For(kRanks));
  store.Begin(Plan({{"a", kRanks}}, kRanks));
  const Blob addresses = Bytes(std::string(kAddresses, 'x'));
  // Two sets of processes at a time, which no real job has, on one host.
  for (const std::string scope : {"global", "local_a", "x_process_set_hash_1"}) {
    for (int rank = 0; rank < kRanks; ++rank) {
      ASSERT_TRUE(store.Put(scope, NameKey(rank), Bytes("a")).ok());
      ASSERT_TRUE(store.Put(scope, std::to_string(rank), addresses).ok());
    }
  }
  EXPECT_GT(store.bytes(), size_t{3} * kRanks * kAddresses);
}

TEST(RendezvousStore, ASnapshotAnswersAsTheStoreDoes) {
  RendezvousStore store(kRoom);
  store.Begin(Plan({{"a", 2}}, 2));
  Put(store, "global", "rank_0", "h");
  Put(store, "global", "0", "zero");
  store.Remove("global", "0");
  Put(store, "set", "0", "zero");
  Put(store, "set", "1", "one");
  store.Remove("set", "0");
  Put(store, "runfunc", "func", "f");

  RendezvousStore other(kRoom);
  for (const StoreOperation& operation : store.Snapshot()) {
    ASSERT_TRUE(other.Apply(operation).ok());
  }
  for (RendezvousStore* each : {&store, &other}) {
    EXPECT_EQ(Get(*each, "global", "rank_0"), "h");
    EXPECT_EQ(Get(*each, "global", "0"), "zero");
    EXPECT_EQ(Get(*each, "set", "0"), "-");
    EXPECT_EQ(Get(*each, "set", "1"), "one");
    EXPECT_EQ(Get(*each, "runfunc", "func"), "f");
    EXPECT_EQ(each->bytes(), store.bytes());
    EXPECT_EQ(each->keys(), store.keys());
  }
  for (RendezvousStore* each : {&store, &other}) {
    each->Remove("global", "1");
    each->Remove("set", "1");
    EXPECT_EQ(Get(*each, "global", "0"), "-");
    EXPECT_FALSE(each->scopes().contains("set"));
    EXPECT_EQ(each->keys(), 1U);
  }
}

TEST(Patience, OnlyForAddressesAndNewPlaces) {
  EXPECT_EQ(PatienceFor("global", "0"), Patience::kSome);
  EXPECT_EQ(PatienceFor("global", "12"), Patience::kSome);
  EXPECT_EQ(PatienceFor("global", "rank_0"), Patience::kNone);
  EXPECT_EQ(PatienceFor("runfunc", "func"), Patience::kNone);
  EXPECT_EQ(PatienceFor("worker_addresses", "a:0"), Patience::kNone);
  EXPECT_EQ(PatienceFor("rank_and_size", "a:0"), Patience::kNoEnd);
}

}  // namespace
}  // namespace tony::core
