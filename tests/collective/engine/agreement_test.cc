#include "collective/engine/agreement.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

namespace tony::collective {
namespace {

Request Good() { return {.name = "w", .shape = {3, 4}}; }

/// The disagreement between the requests of two ranks.
std::string Of(const Request& first, const Request& second) {
  return Disagreement({&first, &second});
}

TEST(Disagreement, ThereIsNone) {
  EXPECT_EQ(Of(Good(), Good()), "");
  const Request good = Good();
  EXPECT_EQ(Disagreement({nullptr, &good}), "");
}

TEST(Disagreement, OnGpusZerosStandForWhoHasJoined) {
  Request request = Good();
  request.kind.device = DeviceType::kGpu;
  EXPECT_EQ(Disagreement({&request, nullptr}), "");
  request.kind.reduce = ReduceOp::kMin;
  EXPECT_EQ(Disagreement({&request, nullptr}),
            "tensor 'w': min on GPUs needs all ranks, and rank 1 has joined: only a sum or an "
            "average can do without its data");
  request.kind.device = DeviceType::kCpu;
  EXPECT_EQ(Disagreement({&request, nullptr}), "");
}

TEST(Disagreement, SaysWhoSaysWhat) {
  struct Case {
    std::function<void(Request&)> change;
    std::string sentence;
  };
  const Case cases[] = {
      {[](Request& r) { r.kind.operation = Operation::kBarrier; }, "allreduce, rank 1 barrier"},
      {[](Request& r) { r.kind.type = DataType::kInt8; }, "float32[3, 4], rank 1 int8[3, 4]"},
      {[](Request& r) {
         r.shape = {4, 3};
       },
       "float32[3, 4], rank 1 float32[4, 3]"},
      {[](Request& r) { r.shape = {}; }, "float32[3, 4], rank 1 float32[]"},
      {[](Request& r) { r.kind.device = DeviceType::kGpu; },
       "float32[3, 4] of the CPU, rank 1 float32[3, 4] of a GPU"},
      {[](Request& r) { r.kind.reduce = ReduceOp::kMin; }, "sum, rank 1 min"},
      {[](Request& r) { r.kind.prescale = 0.1; },
       "prescale factor 1, rank 1 prescale factor 0.10000000000000001"},
      {[](Request& r) { r.kind.postscale = 2; }, "postscale factor 1, rank 1 postscale factor 2"},
      {[](Request& r) { r.group = "g", r.group_size = 3; }, "no group, rank 1 group 'g' of 3"},
  };
  for (const Case& one : cases) {
    Request other = Good();
    one.change(other);
    EXPECT_EQ(Of(Good(), other), "tensor 'w': rank 0 submits " + one.sentence);
  }
}

TEST(Disagreement, TheRanksThatDifferAreNamed) {
  const Request good = Good();
  Request bad = Good();
  bad.shape = {1};
  EXPECT_EQ(Disagreement({nullptr, &good, &good, &bad}),
            "tensor 'w': rank 1 submits float32[3, 4], rank 3 float32[1]");
}

TEST(Disagreement, FirstDimensionsMayDifferWhereRowsAreGathered) {
  Request first = Good();
  first.kind.operation = Operation::kAllGather;
  Request second = first;
  second.shape = {9, 4};
  EXPECT_EQ(Of(first, second), "");
  second.shape = {3, 5};
  EXPECT_EQ(Of(first, second), "tensor 'w': rank 0 submits float32[3, 4], rank 1 float32[3, 5]");
  second.shape = {};
  EXPECT_EQ(Of(first, second), "tensor 'w': rank 1: allgather needs a first dimension");
}

TEST(Disagreement, RootsAreRanks) {
  Request first = Good();
  first.kind.operation = Operation::kBroadcast;
  Request second = first;
  second.kind.root = 1;
  EXPECT_EQ(Of(first, second), "tensor 'w': rank 0 submits root rank 0, rank 1 root rank 1");
  second.kind.root = 2;
  EXPECT_EQ(Of(first, second), "tensor 'w': rank 1: there is no root rank 2");
}

TEST(Disagreement, SplitsFitToRanksAndRows) {
  Request first = Good();
  first.kind.operation = Operation::kAllToAll;
  first.splits = {1, 2};
  Request second = first;
  EXPECT_EQ(Of(first, second), "");
  second.splits = {1, 1};
  EXPECT_EQ(Of(first, second),
            "tensor 'w': rank 1: its 2 splits with 2 rows do not fit to 2 ranks and 3 rows");
  // Together they would overflow to 3.
  second.splits = {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min() + 4};
  EXPECT_EQ(Of(first, second),
            "tensor 'w': rank 1: it has a split of 9223372036854775807 rows of 3");
}

TEST(Disagreement, ARankThatCannotTakePartSaysWhy) {
  Request other = Good();
  other.fault = "its GPU is gone";
  EXPECT_EQ(Of(Good(), other), "tensor 'w': rank 1: its GPU is gone");
}

}  // namespace
}  // namespace tony::collective
