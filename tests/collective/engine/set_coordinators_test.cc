// Decisions of several process sets, by what their ranks submit.
#include "collective/engine/set_coordinators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/collective/watch/arrivals_watch.h"

namespace tony::collective {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SetCoordinatorsTest : public ::testing::Test {
 protected:
  void Submit(int rank, SetId set, std::vector<Request> requests) {
    EXPECT_EQ(coordinators_.Submit(rank, {.requests = std::move(requests), .set = set}), "");
  }
  static Request Tensor(const std::string& name) { return {.name = name, .shape = {4}}; }
  /// By all ranks.
  SetId Add(const std::vector<int64_t>& members) {
    Request request = {.name = "new", .kind = {.operation = Operation::kAddSet}};
    request.members = members;
    for (int rank = 0; rank < 4; ++rank) Submit(rank, kAllRanks, {request});
    const auto decided = coordinators_.Decide(/*idle=*/true);
    EXPECT_EQ(decided.size(), 1U);
    EXPECT_EQ(decided[0].decision.error, "");
    EXPECT_EQ(decided[0].decision.tensors[0].lengths, members);
    EXPECT_THAT(*decided[0].members, ElementsAre(0, 1, 2, 3));
    return decided[0].decision.subject;
  }
  /// The decision of all ranks, and what comes before it.
  std::vector<SetCoordinators::Addressed> Remove(SetId set) {
    Request request = {.name = "old", .kind = {.operation = Operation::kRemoveSet}};
    request.subject = set;
    for (int rank = 0; rank < 4; ++rank) Submit(rank, kAllRanks, {request});
    return coordinators_.Decide(/*idle=*/true);
  }

  ArrivalsWatch watch_{4};
  SetCoordinators coordinators_{4, {}, &watch_};
};

TEST_F(SetCoordinatorsTest, ADecisionIsForItsSet) {
  const SetId set = Add({1, 3});
  EXPECT_EQ(set, 1U);
  Submit(1, set, {Tensor("a")});
  Submit(0, kAllRanks, {Tensor("a")});
  EXPECT_THAT(coordinators_.Decide(true), IsEmpty()) << "the same name is another tensor";
  Submit(3, set, {Tensor("a")});
  const auto decided = coordinators_.Decide(true);
  ASSERT_EQ(decided.size(), 1U);
  EXPECT_EQ(decided[0].decision.set, set);
  EXPECT_THAT(*decided[0].members, ElementsAre(1, 3));
  const auto waiting = watch_.Waiting();
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_THAT(waiting[0].missing, ElementsAre(1, 2, 3));
}

TEST_F(SetCoordinatorsTest, RanksOfTheJobAreNamed) {
  const SetId set = Add({1, 3});
  Submit(3, set, {Tensor("a")});
  const auto waiting = watch_.Waiting();
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting[0].name, "a of process set 1");
  EXPECT_THAT(waiting[0].missing, ElementsAre(1));
  Request other = Tensor("a");
  other.shape = {5};
  Submit(1, set, {other});
  const auto decided = coordinators_.Decide(true);
  ASSERT_EQ(decided.size(), 1U);
  EXPECT_EQ(decided[0].decision.error, "tensor 'a': rank 1 submits float32[5], rank 3 float32[4]");
  Request from = {.name = "b", .kind = {.operation = Operation::kBroadcast, .root = 3}};
  Submit(1, set, {from});
  Submit(3, set, {from});
  coordinators_.OnIdle(set);
  EXPECT_EQ(coordinators_.Decide(true)[0].decision.kind.root, 1) << "as it counts in the set";
}

TEST_F(SetCoordinatorsTest, WhatBecomesReadyWhileTheFirstRankIsBusyIsFused) {
  const SetId set = Add({1, 3});
  const auto both = [&](const std::string& name) {
    for (const int rank : {1, 3}) Submit(rank, set, {Tensor(name)});
  };
  both("a");
  // It is not rank 0 that is asked.
  EXPECT_EQ(coordinators_.Decide(/*idle=*/false).size(), 1U);
  both("b");
  both("c");
  EXPECT_THAT(coordinators_.Decide(true), IsEmpty());
  coordinators_.OnIdle(set);
  const auto decided = coordinators_.Decide(false);
  ASSERT_EQ(decided.size(), 1U);
  EXPECT_EQ(decided[0].decision.tensors.size(), 2U);
  // If rank 0 belongs to the set, rank 0 must be idle.
  const SetId with_first = Add({0, 1});
  for (const int rank : {0, 1}) Submit(rank, with_first, {Tensor("a")});
  EXPECT_THAT(coordinators_.Decide(false), IsEmpty());
  EXPECT_EQ(coordinators_.Decide(true).size(), 1U);
}

class WindowTest : public SetCoordinatorsTest {
 protected:
  WindowTest() { coordinators_.SetFusion(100, kWindow); }
  /// By all ranks.
  void SubmitAll(const std::string& name, Operation operation = Operation::kAllReduce) {
    Request request = Tensor(name);
    request.kind.operation = operation;
    for (int rank = 0; rank < 4; ++rank) Submit(rank, kAllRanks, {request});
  }
  size_t Decide(bool idle = true) { return coordinators_.Decide(idle, now_).size(); }

  static constexpr std::chrono::microseconds kWindow{300};
  Deadline now_{std::chrono::hours(1)};
};

TEST_F(WindowTest, WhatIsReadyWaitsForMore) {
  EXPECT_EQ(Decide(), 0U);
  EXPECT_FALSE(coordinators_.window_end());
  SubmitAll("a");
  const Deadline end = now_ + kWindow;
  EXPECT_EQ(Decide(), 0U);
  EXPECT_EQ(coordinators_.window_end(), end);
  now_ += kWindow / 2;
  SubmitAll("b");
  EXPECT_EQ(Decide(), 0U);
  EXPECT_EQ(coordinators_.window_end(), end) << "from when the first one became ready";
  now_ = end;
  const auto decided = coordinators_.Decide(true, now_);
  ASSERT_EQ(decided.size(), 1U);
  EXPECT_EQ(decided[0].decision.tensors.size(), 2U);
  EXPECT_FALSE(coordinators_.window_end());
  // The next one has a window of its own.
  SubmitAll("c");
  EXPECT_EQ(Decide(), 0U);
  EXPECT_EQ(coordinators_.window_end(), end + kWindow);
}

/// The time in which others were done counts.
TEST_F(WindowTest, BeginsWhileRankZeroIsBusy) {
  SubmitAll("a");
  EXPECT_EQ(Decide(/*idle=*/false), 0U);
  now_ += kWindow;
  EXPECT_EQ(Decide(false), 0U);
  EXPECT_EQ(Decide(), 1U);
}

TEST_F(WindowTest, WhatCannotGrowDoesNotWait) {
  SubmitAll("barrier", Operation::kBarrier);
  EXPECT_EQ(Decide(), 1U);
  SubmitAll("a");
  SubmitAll("sent", Operation::kBroadcast);
  EXPECT_EQ(Decide(), 2U) << "nor does what is before it";
  // 16 bytes each, of 100.
  for (int i = 0; i < 6; ++i) SubmitAll("t" + std::to_string(i));
  EXPECT_EQ(Decide(), 0U);
  SubmitAll("the last one that fits");
  EXPECT_EQ(Decide(), 2U);
}

TEST_F(WindowTest, EachSetHasItsOwn) {
  coordinators_.SetFusion(100, std::chrono::microseconds(0));
  const SetId set = Add({1, 3});
  coordinators_.SetFusion(100, kWindow);
  SubmitAll("a");
  EXPECT_EQ(Decide(), 0U);
  now_ += kWindow / 2;
  for (const int rank : {1, 3}) Submit(rank, set, {Tensor("a")});
  EXPECT_EQ(Decide(), 0U);
  now_ += kWindow / 2;
  EXPECT_EQ(Decide(), 1U);
  EXPECT_EQ(coordinators_.window_end(), now_ + kWindow / 2);
  // One that goes does not wait.
  EXPECT_EQ(Remove(set).size(), 2U);
}

TEST_F(SetCoordinatorsTest, FusionMayChangeAtAnyTime) {
  const auto fused = [&] {
    for (const char* name : {"a", "b", "c"}) {
      for (int rank = 0; rank < 4; ++rank) Submit(rank, kAllRanks, {Tensor(name)});
    }
    std::vector<size_t> sizes;
    for (const auto& one : coordinators_.Decide(true)) {
      sizes.push_back(one.decision.tensors.size());
    }
    return sizes;
  };
  EXPECT_THAT(fused(), ElementsAre(3));
  coordinators_.SetFusion(32, std::chrono::microseconds(0));
  EXPECT_THAT(fused(), ElementsAre(2, 1));
  const SetId set = Add({0, 1});
  for (const int rank : {0, 1}) Submit(rank, set, {Tensor("a"), Tensor("b"), Tensor("c")});
  EXPECT_EQ(coordinators_.Decide(true).size(), 2U) << "also of sets that come later";
}

TEST_F(SetCoordinatorsTest, TheSameRanksAreTheSameSet) {
  const SetId set = Add({2, 3});
  EXPECT_EQ(Add({2, 3}), set);
  EXPECT_EQ(Add({0, 1, 2, 3}), kAllRanks);
  EXPECT_EQ(Add({2}), set + 1);
}

TEST_F(SetCoordinatorsTest, OneThatGoes) {
  const SetId set = Add({1, 3});
  for (const int rank : {1, 3}) Submit(rank, set, {Tensor("done")});
  coordinators_.Decide(true);
  for (const int rank : {1, 3}) Submit(rank, set, {Tensor("ready")});  // while it is busy
  Submit(1, set, {Tensor("waits")});
  const auto decided = Remove(set);
  ASSERT_EQ(decided.size(), 2U);
  EXPECT_EQ(decided[0].decision.set, set);
  EXPECT_EQ(decided[0].decision.tensors[0].name, "ready");
  EXPECT_EQ(decided[1].decision.kind.operation, Operation::kRemoveSet);
  EXPECT_EQ(decided[1].decision.subject, set);
  EXPECT_THAT(watch_.Waiting(), IsEmpty());
  // From a rank that did not know yet; a number that was never given out is a mistake.
  Submit(3, set, {Tensor("waits")});
  coordinators_.OnIdle(set);
  EXPECT_THAT(coordinators_.Decide(true), IsEmpty());
  EXPECT_EQ(coordinators_.Submit(3, {.set = 9}),
            "rank 3 submits to process set 9, which nobody has made");
  EXPECT_EQ(Remove(set)[0].decision.error, "process set 1 is not there, or has been removed");
  EXPECT_EQ(Add({1, 3}), set + 1);
}

TEST_F(SetCoordinatorsTest, WhoDoesNotBelongToItHasToEnd) {
  const SetId set = Add({1, 3});
  EXPECT_EQ(coordinators_.Submit(2, {.requests = {Tensor("a")}, .set = set}),
            "rank 2 submits to process set 1 what it cannot");
  EXPECT_NE(coordinators_.Submit(1, {.joined = true, .set = set}), "");
}

// It would remove itself while it is deciding.
TEST_F(SetCoordinatorsTest, ASetIsNotRemovedByItself) {
  const SetId set = Add({1, 3});
  Request request = {.name = "old", .kind = {.operation = Operation::kRemoveSet}};
  request.subject = set;
  EXPECT_EQ(coordinators_.Submit(1, {.requests = {request}, .set = set}),
            "rank 1 submits to process set 1 what only all ranks do: process sets are made and "
            "removed by all");
}

/// Decisions that a rank has to execute: the set, and the tensor's name.
using Decisions = std::vector<std::pair<SetId, std::string>>;

/// Does decisions, each when it is the first one of all of its ranks, until none is.
void DoDecisions(const std::vector<std::vector<int>>& sets, std::vector<Decisions>& queues) {
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& queue : queues) {
      if (queue.empty()) continue;
      const auto first = queue.front();
      const auto& members = sets[first.first];
      const bool met = std::all_of(members.begin(), members.end(), [&](int rank) {
        const auto& other = queues[static_cast<size_t>(rank)];
        return !other.empty() && other.front() == first;
      });
      if (!met) continue;
      for (const int rank : members) {
        auto& other = queues[static_cast<size_t>(rank)];
        other.erase(other.begin());
      }
      moved = true;
    }
  }
}

/// Ranks do decisions in the order in which they come, each with all of its set: in whatever order
/// they have submitted, nobody waits for ever.
TEST_F(SetCoordinatorsTest, OverlappingSetsInAnyOrderEnd) {
  std::vector<std::vector<int>> sets = {{0, 1, 2, 3}};
  for (const std::vector<int64_t>& members :
       std::vector<std::vector<int64_t>>{{0, 1}, {1, 2}, {2, 3}, {0, 3}, {1, 2, 3}}) {
    EXPECT_EQ(Add(members), sets.size());
    sets.emplace_back(members.begin(), members.end());
  }
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    struct One {
      int rank;
      SetId set;
      int number;
    };
    std::vector<One> all;
    for (SetId set = 0; set < sets.size(); ++set) {
      for (const int rank : sets[set]) {
        for (int number = 0; number < 5; ++number) all.push_back({rank, set, number});
      }
    }
    std::shuffle(all.begin(), all.end(), random);
    std::vector<Decisions> queues(4);  // each rank's
    size_t left = 5 * sets.size();
    const auto decide = [&](bool idle) {
      for (const auto& [decision, members] : coordinators_.Decide(idle)) {
        EXPECT_EQ(*members, sets[decision.set]);
        left -= decision.tensors.size();
        for (const int rank : *members) {
          queues[static_cast<size_t>(rank)].emplace_back(decision.set, decision.tensors[0].name);
        }
      }
    };
    for (const One& one : all) {
      Submit(one.rank, one.set, {Tensor(std::to_string(one.number))});
      decide(random() % 2 == 0);
      if (random() % 3 == 0) coordinators_.OnIdle(random() % sets.size());
    }
    for (SetId set = 0; set < sets.size(); ++set) coordinators_.OnIdle(set);
    decide(true);
    EXPECT_EQ(left, 0U);
    DoDecisions(sets, queues);
    for (const auto& queue : queues) EXPECT_THAT(queue, IsEmpty());
  }
}

}  // namespace
}  // namespace tony::collective
