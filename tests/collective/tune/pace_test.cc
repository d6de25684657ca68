// Steps, by what is decided.
#include "collective/tune/pace.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tony::collective {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A float32 tensor; `id` 0: the name is new.
Decided Tensor(const std::string& name, int64_t elements, TensorId id = 1) {
  return {.name = name, .id = id, .elements = elements};
}

class PaceTest : public ::testing::Test {
 protected:
  std::optional<Pace::Step> Take(std::vector<Decided> tensors,
                                 Operation operation = Operation::kAllReduce,
                                 SetId set = kAllRanks) {
    Decision decision = {.kind = {.operation = operation}, .set = set};
    decision.tensors = std::move(tensors);
    return pace_.Take(decision, now_);
  }
  void ExpectStep(const std::optional<Pace::Step>& step, milliseconds time, size_t bytes) {
    ASSERT_TRUE(step.has_value());
    EXPECT_EQ(step->time, time);
    EXPECT_EQ(step->bytes, bytes);
  }

  Pace pace_;
  Deadline now_{seconds(1000)};
};

TEST_F(PaceTest, FromTheLargestTensorToItsNextTime) {
  EXPECT_FALSE(Take({Tensor("small", 10), Tensor("large", 100)}));
  now_ += milliseconds(3);
  EXPECT_FALSE(Take({Tensor("other", 50)}));
  now_ += milliseconds(4);
  ExpectStep(Take({Tensor("small", 10), Tensor("large", 100)}), milliseconds(7), 160 * 4);
  now_ += milliseconds(5);
  ExpectStep(Take({Tensor("large", 100)}), milliseconds(5), 110 * 4);
}

TEST_F(PaceTest, WhatComesMoreOftenIsNoStep) {
  Take({Tensor("large", 100)});
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(Take({Tensor("metric", 1)}));
  now_ += milliseconds(9);
  ExpectStep(Take({Tensor("large", 100)}), milliseconds(9), 120 * 4);
}

/// A tensor that occurs only once, as at the start of a training, must not become the mark.
TEST_F(PaceTest, ANameThatHasNotComeBeforeIsNoMark) {
  Take({Tensor("once", 1000, 0)});
  Take({Tensor("large", 100)});
  now_ += milliseconds(2);
  ExpectStep(Take({Tensor("large", 100)}), milliseconds(2), 100 * 4);
}

TEST_F(PaceTest, ALargerOneBeginsAgain) {
  Take({Tensor("large", 100)});
  now_ += milliseconds(1);
  EXPECT_FALSE(Take({Tensor("large", 100), Tensor("larger", 200)}));
  now_ += milliseconds(1);
  EXPECT_FALSE(Take({Tensor("large", 100)}));
  ExpectStep(Take({Tensor("larger", 200)}), milliseconds(1), 400 * 4);
}

TEST_F(PaceTest, AMarkThatDoesNotComeAgainIsForgotten) {
  Take({Tensor("large", 100)});
  for (int i = 0; i < 70000; ++i) Take({Tensor("small", 10)});
  now_ += milliseconds(6);
  const auto step = Take({Tensor("small", 10)});
  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(step->time, milliseconds(6));
}

TEST_F(PaceTest, NamesAreOfTheirSet) {
  Take({Tensor("large", 100)});
  EXPECT_FALSE(Take({Tensor("large", 100)}, Operation::kAllReduce, 1));
  EXPECT_TRUE(Take({Tensor("large", 100)}));
}

TEST_F(PaceTest, WhatDoesNotReduceDoesNotCount) {
  for (const Operation operation :
       {Operation::kBroadcast, Operation::kAllGather, Operation::kAllToAll, Operation::kBarrier}) {
    Take({Tensor("large", 100)}, operation);
    EXPECT_FALSE(Take({Tensor("large", 100)}, operation));
  }
  Take({Tensor("scattered", 100)}, Operation::kReduceScatter);
  EXPECT_TRUE(Take({Tensor("scattered", 100)}, Operation::kReduceScatter));
  Decision failed;
  failed.error = "ranks do not agree";
  failed.tensors = {Tensor("scattered", 100)};
  EXPECT_FALSE(pace_.Take(failed, now_));
}

TEST_F(PaceTest, TheStepThatIsBegunAgainDoesNotCount) {
  Take({Tensor("large", 100)});
  pace_.Restart();
  EXPECT_FALSE(Take({Tensor("large", 100)}));
  now_ += milliseconds(1);
  ExpectStep(Take({Tensor("large", 100)}), milliseconds(1), 100 * 4);
}

}  // namespace
}  // namespace tony::collective
