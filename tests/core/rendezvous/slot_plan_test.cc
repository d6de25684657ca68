// Ranks by host, also when hosts come and go.
#include "core/rendezvous/slot_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::core {
namespace {

using ::testing::HasSubstr;

TEST(PlanSlots, CountsThroughHostsAndAcrossThem) {
  const auto plan = PlanSlots({{"a", 2}, {"b", 1}, {"c", 3}}, 6);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(*plan, (std::vector<Slot>{{"a", 0, 6, 0, 2, 0, 3},
                                      {"a", 1, 6, 1, 2, 0, 2},
                                      {"b", 2, 6, 0, 1, 1, 3},
                                      {"c", 3, 6, 0, 3, 2, 3},
                                      {"c", 4, 6, 1, 3, 1, 2},
                                      {"c", 5, 6, 2, 3, 0, 1}}));
}

TEST(PlanSlots, NotMoreThanAskedFor) {
  const auto plan = PlanSlots({{"a", 4}, {"b", 4}, {"c", 4}}, 5);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(*plan, (std::vector<Slot>{{"a", 0, 5, 0, 4, 0, 2},
                                      {"a", 1, 5, 1, 4, 0, 1},
                                      {"a", 2, 5, 2, 4, 0, 1},
                                      {"a", 3, 5, 3, 4, 0, 1},
                                      {"b", 4, 5, 0, 1, 1, 2}}));
}

TEST(PlanSlots, OneProcess) {
  const auto plan = PlanSlots({{"host-1.example.com", 1}}, 1);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(*plan, (std::vector<Slot>{{"host-1.example.com", 0, 1, 0, 1, 0, 1}}));
}

TEST(PlanSlots, TooFewSlots) {
  const absl::Status status = PlanSlots({{"a", 2}, {"b", 1}}, 4).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "4 processes are wanted, and there are 3 slots on 2 hosts; ask for fewer processes or "
            "give more slots");
  EXPECT_EQ(PlanSlots({}, 1).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(PlanSlots, AsManySlotsAsAnIntHasDoNotOverflow) {
  constexpr int kMost = 2147483647;
  const auto plan = PlanSlots({{"a", kMost}, {"b", kMost}}, 2);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->size(), 2U);
}

TEST(PlanSlots, RefusesWhatMeansNothing) {
  for (const int processes : {0, -1}) {
    EXPECT_EQ(PlanSlots({{"a", 1}}, processes).status().code(), absl::StatusCode::kInvalidArgument);
  }
  for (const int slots : {0, -1}) {
    EXPECT_THAT(std::string(PlanSlots({{"a", 4}, {"b", slots}}, 1).status().message()),
                HasSubstr("leave it out or give it one"));
  }
  for (const std::string host : {"", "a/b", "a b", "a:1", "::1", "ä", "a?b"}) {
    EXPECT_THAT(std::string(PlanSlots({{host, 1}}, 1).status().message()),
                HasSubstr("give it another name"))
        << host;
  }
}

TEST(PlanSlots, OneNameForTwoHosts) {
  const absl::Status status = PlanSlots({{"a", 1}, {"b", 1}, {"a", 1}}, 2).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("host a is named twice"));
}

/// "a0<1": on host a, local rank 0, of the process that had rank 1; in the order of ranks.
std::vector<std::string> Places(const absl::StatusOr<std::vector<ElasticSlot>>& round) {
  if (!round.ok()) return {round.status().ToString()};
  std::vector<std::string> places;
  for (const ElasticSlot& place : *round) {
    EXPECT_EQ(place.slot.rank, static_cast<int>(places.size()));
    EXPECT_EQ(place.slot.size, static_cast<int>(round->size()));
    places.push_back(
        place.slot.host + std::to_string(place.slot.local_rank) +
        (place.previous_rank ? "<" + std::to_string(*place.previous_rank) : std::string()));
  }
  return places;
}

using Names = std::vector<std::string>;

/// Slots of a plan, by their ranks.
std::vector<Slot> Some(const std::vector<HostSlots>& hosts, int processes,
                       const std::vector<int>& ranks) {
  const auto plan = PlanSlots(hosts, processes);
  EXPECT_TRUE(plan.ok()) << plan.status();
  std::vector<Slot> some;
  for (const int rank : ranks) some.push_back(plan->at(static_cast<size_t>(rank)));
  return some;
}

TEST(PlanNextRound, ALostHostGoesAndTheOthersKeepTheirOrder) {
  const std::vector<HostSlots> hosts = {{"a", 1}, {"b", 1}, {"c", 1}};
  EXPECT_EQ(Places(PlanNextRound({{"c", 1}, {"b", 1}}, Some(hosts, 3, {2, 1}), {1, 3})),
            (Names{"b0<1", "c0<2"}));
}

TEST(PlanNextRound, NewHostsComeAfterOldOnesWhereverTheyAreNamed) {
  const std::vector<HostSlots> hosts = {{"b", 1}, {"c", 1}};
  EXPECT_EQ(Places(PlanNextRound({{"a", 2}, {"b", 1}, {"d", 1}, {"c", 1}}, Some(hosts, 2, {0, 1}),
                                 {1, 9})),
            (Names{"b0<0", "c0<1", "a0", "a1", "d0"}));
}

TEST(PlanNextRound, RankZeroIsASurvivorAlsoWhereItsHostLostTheFirstOne) {
  const std::vector<HostSlots> hosts = {{"a", 3}, {"b", 1}};
  const auto round = PlanNextRound(hosts, Some(hosts, 4, {1, 2, 3}), {1, 4});
  EXPECT_EQ(Places(round), (Names{"a0<1", "a1<2", "a2", "b0<3"}));
  ASSERT_TRUE(round.ok());
  EXPECT_EQ(round->at(3).slot, (Slot{"b", 3, 4, 0, 1, 1, 2}));
}

TEST(PlanNextRound, SurvivorsHavePlacesBeforeNewProcesses) {
  const std::vector<HostSlots> hosts = {{"a", 2}, {"b", 1}};
  // One of a is gone, and there is room for two processes only.
  EXPECT_EQ(Places(PlanNextRound(hosts, Some(hosts, 3, {0, 2}), {1, 2})), (Names{"a0<0", "b0<2"}));
}

TEST(PlanNextRound, SurvivorsBeyondTheRoomHaveNone) {
  const std::vector<HostSlots> hosts = {{"a", 2}, {"b", 2}};
  const std::vector<Slot> all = Some(hosts, 4, {0, 1, 2, 3});
  EXPECT_EQ(Places(PlanNextRound(hosts, all, {1, 3})), (Names{"a0<0", "a1<1", "b0<2"}));
  EXPECT_EQ(Places(PlanNextRound({{"a", 1}, {"b", 2}}, all, {1, 4})),
            (Names{"a0<0", "b0<2", "b1<3"}));
  // A survivor's host that is not among the hosts any more.
  EXPECT_EQ(Places(PlanNextRound({{"b", 2}}, all, {1, 4})), (Names{"b0<2", "b1<3"}));
}

TEST(PlanNextRound, NobodySurvived) {
  const std::vector<HostSlots> hosts = {{"a", 2}, {"b", 2}};
  EXPECT_EQ(PlanNextRound(hosts, {}, {1, 2}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(PlanNextRound({{"c", 2}}, Some(hosts, 2, {0, 1}), {1, 2}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(PlanNextRound({}, {}, {1, 2}).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(PlanNextRound, FewerPlacesThanTheJobNeeds) {
  const std::vector<HostSlots> hosts = {{"a", 2}, {"b", 2}};
  const absl::Status status = PlanNextRound({{"a", 2}}, Some(hosts, 4, {0, 1}), {3, 4}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("3 processes are wanted, and there are 2 slots on 1 host;"));
}

TEST(PlanNextRound, RefusesWhatMeansNothing) {
  const std::vector<HostSlots> hosts = {{"a", 2}};
  const std::vector<Slot> all = Some(hosts, 2, {0, 1});
  for (const ElasticSize size : {ElasticSize{0, 2}, ElasticSize{3, 2}}) {
    EXPECT_EQ(PlanNextRound(hosts, all, size).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(PlanNextRound({{"a", 1}, {"a", 1}}, all, {1, 2}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tony::core
