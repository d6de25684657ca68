// Decisions, by what ranks submit.
#include "collective/engine/coordinator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "tests/collective/watch/arrivals_watch.h"

namespace tony::collective {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Request Tensor(const std::string& name, std::vector<int64_t> shape = {4}) {
  return {.name = name, .shape = std::move(shape)};
}

std::vector<std::string> NamesOf(const Decision& decision) {
  std::vector<std::string> names;
  for (const Decided& tensor : decision.tensors) names.push_back(tensor.name);
  return names;
}

class CoordinatorTest : public ::testing::Test {
 protected:
  void Ranks(int ranks, Coordinator::Limits limits = {}) {
    ranks_ = ranks;
    watch_ = std::make_unique<ArrivalsWatch>(ranks);
    coordinator_ = std::make_unique<Coordinator>(ranks, limits, watch_.get());
  }
  void SetUp() override { Ranks(2); }

  void Submit(int rank, std::vector<Request> requests, std::vector<TensorId> known = {}) {
    EXPECT_EQ(coordinator_->Submit(rank, {std::move(known), std::move(requests), false}), "");
  }
  void SubmitAll(const std::vector<Request>& requests) {
    for (int rank = 0; rank < ranks_; ++rank) Submit(rank, requests);
  }
  void Join(int rank) { EXPECT_EQ(coordinator_->Submit(rank, {.joined = true}), ""); }
  /// Makes the only decision.
  Decision DecideOne() {
    auto decisions = coordinator_->Decide();
    EXPECT_EQ(decisions.size(), 1U);
    return decisions.empty() ? Decision{} : decisions.front();
  }
  std::vector<std::vector<std::string>> DecideNames() {
    std::vector<std::vector<std::string>> all;
    for (const Decision& decision : coordinator_->Decide()) all.push_back(NamesOf(decision));
    return all;
  }

  int ranks_ = 0;
  std::unique_ptr<ArrivalsWatch> watch_;
  std::unique_ptr<Coordinator> coordinator_;
};

TEST_F(CoordinatorTest, ATensorIsReadyWhenAllHaveSubmittedIt) {
  Submit(0, {Tensor("a"), Tensor("b")});
  EXPECT_THAT(coordinator_->Decide(), IsEmpty());
  Submit(1, {Tensor("b")});
  EXPECT_THAT(DecideNames(), ElementsAre(ElementsAre("b")));
  EXPECT_THAT(coordinator_->Decide(), IsEmpty());
  Submit(1, {Tensor("a")});
  EXPECT_THAT(DecideNames(), ElementsAre(ElementsAre("a")));
}

TEST_F(CoordinatorTest, WhoIsMissing) {
  Ranks(3);
  Submit(1, {Tensor("b"), Tensor("a")});
  Submit(2, {Tensor("a")});
  const auto waiting = watch_->Waiting();
  ASSERT_EQ(waiting.size(), 2U);
  EXPECT_EQ(waiting[0].name, "a");
  EXPECT_THAT(waiting[0].missing, ElementsAre(0));
  EXPECT_THAT(waiting[1].missing, ElementsAre(0, 2));
  coordinator_->GiveUp();
  EXPECT_THAT(watch_->Waiting(), IsEmpty());
}

TEST_F(CoordinatorTest, TheSecondTimeATensorGetsANumber) {
  SubmitAll({Tensor("a")});
  EXPECT_EQ(DecideOne().tensors[0].id, 0U);
  SubmitAll({Tensor("a")});
  EXPECT_EQ(DecideOne().tensors[0].id, 1U);
  // By its number from now on; a request is as good.
  Submit(0, {}, {1});
  Submit(1, {Tensor("a")});
  const Decision decision = DecideOne();
  EXPECT_THAT(NamesOf(decision), ElementsAre("a"));
  EXPECT_EQ(decision.tensors[0].id, 1U);
  EXPECT_EQ(decision.tensors[0].elements, 4);
}

TEST_F(CoordinatorTest, ATensorMayChangeItsShapeEverywhere) {
  for (int time = 0; time < 2; ++time) {
    SubmitAll({Tensor("a")});
    (void)coordinator_->Decide();
  }
  SubmitAll({Tensor("a", {2, 3})});
  const Decision decision = DecideOne();
  EXPECT_EQ(decision.error, "");
  EXPECT_EQ(decision.tensors[0].elements, 6);
  // Somebody who still means the old one, by its number, means the new one now: he has submitted
  // it.
  Submit(0, {}, {1});
  Submit(1, {}, {1});
  EXPECT_EQ(DecideOne().tensors[0].elements, 6);
}

TEST_F(CoordinatorTest, AChangeThatOneRankDoesNotMakeIsAnError) {
  for (int time = 0; time < 2; ++time) {
    SubmitAll({Tensor("a")});
    (void)coordinator_->Decide();
  }
  Submit(0, {}, {1});
  Submit(1, {Tensor("a", {5})});
  const Decision wrong = DecideOne();
  EXPECT_EQ(wrong.error, "tensor 'a': rank 0 submits float32[4], rank 1 float32[5]");
  EXPECT_EQ(wrong.tensors[0].id, 0U) << "nobody may use the number without a new request";
  SubmitAll({Tensor("a")});
  EXPECT_EQ(DecideOne().error, "");
}

TEST_F(CoordinatorTest, NumbersAreForNamesThatComeAgainAndNotWithoutEnd) {
  Ranks(2, {.fusion_bytes = 1024, .numbers = 2});
  for (int i = 0; i < 100; ++i) {
    SubmitAll({Tensor("once." + std::to_string(i))});
    EXPECT_EQ(DecideOne().tensors[0].id, 0U);
  }
  for (const auto& [name, id] : {std::pair{"a", 1U}, {"b", 2U}, {"c", 0U}}) {
    SubmitAll({Tensor(name)});
    (void)coordinator_->Decide();
    SubmitAll({Tensor(name)});
    EXPECT_EQ(DecideOne().tensors[0].id, id) << name;
  }
}

TEST_F(CoordinatorTest, FusesWhatFitsAndLooksAhead) {
  Ranks(2, {.fusion_bytes = 40});
  Request other = Tensor("double");
  other.kind.type = DataType::kFloat64;
  SubmitAll(
      {Tensor("a"), other, Tensor("b"), Tensor("large", {100}), Tensor("c", {2}), Tensor("d")});
  EXPECT_THAT(DecideNames(), ElementsAre(ElementsAre("a", "b", "c"), ElementsAre("double"),
                                         ElementsAre("large"), ElementsAre("d")));
}

TEST_F(CoordinatorTest, FusesOnlyWhatOneVectorCanHold) {
  std::vector<Request> requests(8, Tensor(""));
  for (size_t i = 0; i < requests.size(); ++i) requests[i].name = std::to_string(i);
  requests[1].kind.type = DataType::kInt32;
  requests[2].kind.reduce = ReduceOp::kMax;
  requests[3].kind.prescale = 0.5;
  requests[4].kind.postscale = 0.5;
  requests[5].kind.operation = Operation::kBroadcast;
  requests[6].kind.operation = Operation::kAllGather;
  SubmitAll(requests);
  EXPECT_THAT(DecideNames(),
              ElementsAre(ElementsAre("0", "7"), ElementsAre("1"), ElementsAre("2"),
                          ElementsAre("3"), ElementsAre("4"), ElementsAre("5"), ElementsAre("6")));
}

TEST_F(CoordinatorTest, LengthsOfAllRanks) {
  Request gathered = Tensor("g", {2, 3});
  gathered.kind.operation = Operation::kAllGather;
  Submit(0, {gathered});
  gathered.shape = {5, 3};
  Submit(1, {gathered});
  EXPECT_THAT(DecideOne().tensors[0].lengths, ElementsAre(2, 5));

  Request exchanged = Tensor("x", {3});
  exchanged.kind.operation = Operation::kAllToAll;
  exchanged.splits = {1, 2};
  Submit(0, {exchanged});
  exchanged.splits = {3, 0};
  Submit(1, {exchanged});
  EXPECT_THAT(DecideOne().tensors[0].lengths, ElementsAre(1, 2, 3, 0));
}

class GroupTest : public CoordinatorTest {
 protected:
  static Request Member(const std::string& name, uint32_t size = 2) {
    Request request = Tensor(name);
    request.group = "g";
    request.group_size = size;
    return request;
  }
};

TEST_F(GroupTest, IsReadyAsAWhole) {
  SubmitAll({Member("a"), Tensor("alone")});
  EXPECT_THAT(DecideNames(), ElementsAre(ElementsAre("alone")));
  SubmitAll({Member("b")});
  EXPECT_THAT(DecideNames(), ElementsAre(ElementsAre("a", "b")));
}

TEST_F(GroupTest, IsNotSplit) {
  Ranks(2, {.fusion_bytes = 24});
  SubmitAll({Tensor("first"), Member("a"), Member("b"), Tensor("last", {1})});
  EXPECT_THAT(DecideNames(), ElementsAre(ElementsAre("first", "last"), ElementsAre("a", "b")));
}

TEST_F(GroupTest, OfTwoTypes) {
  Request b = Member("b", 3);
  b.kind.type = DataType::kInt64;
  SubmitAll({Member("a", 3), b, Member("c", 3)});
  EXPECT_THAT(DecideNames(), ElementsAre(ElementsAre("a", "c"), ElementsAre("b")));
}

TEST_F(GroupTest, FailsAsAWhole) {
  SubmitAll({Member("a", 3)});
  Submit(0, {Member("b", 3)});
  Request wrong = Member("b", 3);
  wrong.shape = {9};
  Submit(1, {wrong});
  std::vector<std::string> failed;
  for (const Decision& decision : coordinator_->Decide()) {
    EXPECT_EQ(decision.error, "tensor 'b': rank 0 submits float32[4], rank 1 float32[9]");
    failed.push_back(decision.tensors[0].name);
  }
  EXPECT_THAT(failed, ElementsAre("b", "a"));
  // A later rank's submission fails as well. After that the name may be tried again.
  SubmitAll({Member("c", 3)});
  EXPECT_NE(DecideOne().error, "");
  SubmitAll({Member("a", 3), Member("b", 3), Member("c", 3)});
  EXPECT_THAT(DecideNames(), ElementsAre(ElementsAre("a", "b", "c")));
}

TEST_F(GroupTest, OfWhichTwoFail) {
  for (const char* name : {"a", "b"}) {
    Submit(0, {Member(name)});
    Request wrong = Member(name);
    wrong.kind.reduce = ReduceOp::kMax;
    Submit(1, {wrong});
    EXPECT_EQ(DecideOne().error,
              std::string("tensor '") + name + "': rank 0 submits sum, rank 1 max");
  }
  SubmitAll({Member("a"), Member("b")});
  EXPECT_THAT(DecideNames(), ElementsAre(ElementsAre("a", "b")));
}

/// No rank waits for a tensor that another rank does not have, and the name may be used again.
TEST_F(GroupTest, OfAnotherSizeAtOneRank) {
  for (const int larger : {0, 1}) {
    Submit(larger, {Member("a", 3), Member("b", 3), Member("c", 3)});
    EXPECT_THAT(coordinator_->Decide(), IsEmpty());
    Submit(1 - larger, {Member("a"), Member("b")});
    std::vector<std::string> failed;
    for (const Decision& decision : coordinator_->Decide()) {
      EXPECT_THAT(decision.error, ::testing::HasSubstr(larger == 0 ? "rank 0 submits group 'g' of 3"
                                                                   : "rank 1 group 'g' of 3"));
      failed.push_back(decision.tensors[0].name);
    }
    EXPECT_THAT(failed, ::testing::UnorderedElementsAre("a", "b", "c"));
    EXPECT_THAT(watch_->Waiting(), IsEmpty());
    SubmitAll({Member("a"), Member("b")});
    EXPECT_THAT(DecideNames(), ElementsAre(ElementsAre("a", "b")));
  }
}

TEST_F(GroupTest, OfOtherTensorsAtOneRank) {
  Submit(0, {Member("a"), Member("b")});
  Submit(1, {Member("a"), Member("c")});
  std::vector<std::string> failed;
  for (const Decision& decision : coordinator_->Decide()) {
    EXPECT_EQ(decision.error, "group 'g': rank 0 submits tensor 'b' in it, rank 1 does not");
    failed.push_back(decision.tensors[0].name);
  }
  EXPECT_THAT(failed, ::testing::UnorderedElementsAre("a", "b", "c"));
  EXPECT_THAT(watch_->Waiting(), IsEmpty());
  SubmitAll({Member("a"), Member("b")});
  EXPECT_THAT(DecideNames(), ElementsAre(ElementsAre("a", "b")));
}

/// A tensor that is in different groups on different ranks fails in both groups.
TEST_F(GroupTest, OneThatIsInTwoGroups) {
  Ranks(3);
  Request elsewhere = Member("x", 1);
  elsewhere.group = "h";
  Submit(0, {Member("x", 1)});
  Submit(1, {elsewhere, Member("y", 1)});
  EXPECT_THAT(coordinator_->Decide(), IsEmpty());
  Submit(2, {Member("y", 1)});
  std::vector<std::string> failed;
  for (const Decision& decision : coordinator_->Decide()) {
    EXPECT_NE(decision.error, "");
    failed.push_back(decision.tensors[0].name);
  }
  EXPECT_THAT(failed, ::testing::UnorderedElementsAre("x", "y"));
  EXPECT_THAT(watch_->Waiting(), IsEmpty());
  elsewhere.name = "z";
  SubmitAll({elsewhere, Member("x", 1)});
  EXPECT_THAT(DecideNames(), ElementsAre(ElementsAre("z", "x")));
}

TEST_F(GroupTest, WithoutOneThatHasJoined) {
  Ranks(3);
  Submit(0, {Member("a"), Member("b")});
  Join(2);
  EXPECT_THAT(coordinator_->Decide(), IsEmpty());
  Submit(1, {Member("a"), Member("b")});
  EXPECT_THAT(DecideNames(), ElementsAre(ElementsAre("a", "b")));
  Submit(0, {Member("c"), Member("d")});
  Submit(1, {Member("c"), Member("d")});
  EXPECT_THAT(DecideNames(), ElementsAre(ElementsAre("c", "d")));
}

TEST_F(GroupTest, ThatAJoinMakesReady) {
  Submit(0, {Member("a"), Member("b")});
  EXPECT_THAT(coordinator_->Decide(), IsEmpty());
  Join(1);
  EXPECT_THAT(DecideNames(), ElementsAre(ElementsAre("a", "b")));
  EXPECT_THAT(watch_->Waiting(), IsEmpty());
}

TEST_F(GroupTest, ThatAJoinMakesReadyAndOneOfWhichNeedsAllRanks) {
  Request gathered = Member("b");
  gathered.kind.operation = Operation::kAllGather;
  Submit(0, {Member("a"), gathered});
  Join(1);
  const auto decisions = coordinator_->Decide();
  EXPECT_EQ(decisions.size(), 2U);
  for (const Decision& decision : decisions) {
    EXPECT_THAT(decision.error, ::testing::HasSubstr("rank 1 has joined"));
  }
  EXPECT_THAT(watch_->Waiting(), IsEmpty());
}

TEST_F(GroupTest, OfNoTensorsIsNone) {
  EXPECT_EQ(coordinator_->Submit(1, {.requests = {Member("a", 0)}}),
            "rank 1 submits group 'g' of no tensors");
}

TEST_F(GroupTest, OfWhichOneRankDoesNotKnowIsAnError) {
  Submit(0, {Member("a"), Member("b")});
  Submit(1, {Tensor("a"), Tensor("b")});
  for (const Decision& decision : coordinator_->Decide()) {
    EXPECT_THAT(decision.error,
                ::testing::EndsWith("rank 0 submits group 'g' of 2, rank 1 no group"));
  }
  EXPECT_THAT(watch_->Waiting(), IsEmpty());
}

TEST_F(CoordinatorTest, TensorsOfHostsAndOfGpusAreNotFused) {
  std::vector<Request> requests;
  for (const std::string name : {"host.1", "gpu.1", "host.2", "gpu.2"}) {
    requests.push_back(Tensor(name));
    if (name[0] == 'g') requests.back().kind.device = DeviceType::kGpu;
  }
  for (const std::string name : {"gather.1", "gather.2"}) {
    requests.push_back(Tensor(name));
    requests.back().kind = {.operation = Operation::kAllGather, .device = DeviceType::kGpu};
  }
  SubmitAll(requests);
  EXPECT_THAT(DecideNames(),
              ElementsAre(ElementsAre("host.1", "host.2"), ElementsAre("gpu.1", "gpu.2"),
                          ElementsAre("gather.1"), ElementsAre("gather.2")));
}

/// The limit applies to all ranks together: copying more than a megabyte would not pay.
TEST_F(CoordinatorTest, SmallAllgathersAndReducescattersAreFused) {
  for (const Operation operation : {Operation::kAllGather, Operation::kReduceScatter}) {
    const auto of = [&](const std::string& name, int64_t rows) {
      Request request = Tensor(name, {rows});
      request.kind.operation = operation;
      return request;
    };
    const int64_t half = operation == Operation::kAllGather ? 1 << 16 : 1 << 17;
    SubmitAll({of("a", half), of("b", half), of("c", 1), of("d", 2 * half + 1), of("e", 1)});
    EXPECT_THAT(DecideNames(),
                ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "e"), ElementsAre("d")));
  }
}

TEST_F(CoordinatorTest, AJoinedRankTakesPartInAllreduces) {
  Ranks(3);
  Submit(0, {Tensor("a")});
  Submit(2, {Tensor("a")});
  Join(1);
  const Decision decision = DecideOne();
  EXPECT_THAT(NamesOf(decision), ElementsAre("a"));
  EXPECT_EQ(decision.tensors[0].elements, 4) << "for the rank that does not have it";
  Submit(0, {Tensor("b")});
  EXPECT_THAT(coordinator_->Decide(), IsEmpty());
  Join(0);
  EXPECT_THAT(coordinator_->Decide(), IsEmpty());
  Submit(2, {Tensor("b")});
  EXPECT_THAT(DecideNames(), ElementsAre(ElementsAre("b")));
  Join(2);
  EXPECT_EQ(DecideOne().last_joined, 2);
  // All over again.
  SubmitAll({Tensor("c")});
  EXPECT_THAT(DecideNames(), ElementsAre(ElementsAre("c")));
}

TEST_F(CoordinatorTest, OtherOperationsNeedAllRanks) {
  Request gathered = Tensor("g");
  gathered.kind.operation = Operation::kAllGather;
  Submit(0, {gathered});
  Join(1);
  EXPECT_EQ(
      DecideOne().error,
      "tensor 'g': allgather needs all ranks, and rank 1 has joined: only an allreduce can do "
      "without its data");
}

TEST_F(CoordinatorTest, WhatNoRankDoes) {
  EXPECT_EQ(coordinator_->Submit(1, {.known = {1}}),
            "rank 1 submits tensor number 1, which nobody has given out");
  constexpr int64_t kMany = int64_t{1} << 40;
  EXPECT_EQ(coordinator_->Submit(1, {.requests = {Tensor("b", {kMany, kMany})}}),
            "rank 1 submits what it cannot: tensor 'b' is larger than any memory: "
            "float32[1099511627776, 1099511627776]");
  Submit(0, {Tensor("a")});
  EXPECT_EQ(coordinator_->Submit(0, {.requests = {Tensor("a")}}),
            "rank 0 submits tensor 'a' twice");
  Join(0);
  EXPECT_EQ(coordinator_->Submit(0, {.joined = true}), "rank 0 joins twice");
  EXPECT_EQ(coordinator_->Submit(0, {.requests = {Tensor("b")}}),
            "rank 0 submits tensor 'b' after it has joined");
}

/// Each rank submits all tensors of a step in an order of its own, by number where it has one.
TEST_F(CoordinatorTest, AnyOrderOnEachRank) {
  constexpr int kRanks = 4;
  constexpr int kTensors = 50;
  Ranks(kRanks, {.fusion_bytes = 400, .numbers = 30});
  std::mt19937 random(1);
  std::vector<TensorId> numbers(kTensors);
  for (int step = 0; step < 30; ++step) {
    std::vector<std::pair<int, int>> turns;  // rank, tensor
    for (int rank = 0; rank < kRanks; ++rank) {
      for (int tensor = 0; tensor < kTensors; ++tensor) turns.emplace_back(rank, tensor);
    }
    std::shuffle(turns.begin(), turns.end(), random);
    std::vector<int> done(kTensors);
    const auto decide = [&] {
      for (const Decision& decision : coordinator_->Decide()) {
        EXPECT_EQ(decision.error, "");
        for (const Decided& one : decision.tensors) {
          ++done[static_cast<size_t>(std::stoi(one.name))];
          numbers[static_cast<size_t>(std::stoi(one.name))] = one.id;
        }
      }
    };
    for (const auto& [rank, tensor] : turns) {
      const TensorId number = numbers[static_cast<size_t>(tensor)];
      if (number != 0) {
        Submit(rank, {}, {number});
      } else {
        Submit(rank, {Tensor(std::to_string(tensor), {tensor % 7 + 1})});
      }
      if (random() % 10 == 0) decide();
    }
    decide();
    EXPECT_EQ(done, std::vector<int>(kTensors, 1));
  }
}

}  // namespace
}  // namespace tony::collective
