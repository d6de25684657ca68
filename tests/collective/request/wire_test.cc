// There and back, and bytes that are none of ours.
#include "collective/request/wire.h"

#include <gtest/gtest.h>

#include <random>

namespace tony::collective {
namespace {

Submission FullSubmission() {
  Request request = {.name = "layer/weights",
                     .kind = {.operation = Operation::kAllToAll,
                              .device = DeviceType::kGpu,
                              .type = DataType::kBfloat16,
                              .reduce = ReduceOp::kMax,
                              .root = 3,
                              .prescale = 0.1,
                              .postscale = -2},
                     .shape = {1, int64_t{1} << 40, 3},
                     .splits = {1, 0},
                     .group = "g",
                     .group_size = 7,
                     .fault = "no GPU"};
  return {.known = {1, 4000000000}, .requests = {request, {}}, .joined = true};
}

Decision FullDecision() {
  return {.kind = {.operation = Operation::kAllGather,
                   .device = DeviceType::kGpu,
                   .type = DataType::kBool,
                   .reduce = ReduceOp::kMin,
                   .root = 2,
                   .prescale = 3,
                   .postscale = 0.25},
          .tensors = {{.name = "a", .id = 9, .elements = int64_t{1} << 33, .lengths = {4, 5}}, {}},
          .error = "tensor 'a': …",
          .last_joined = 5,
          .points = "streams 2\n"};
}

TEST(Wire, ThereAndBack) {
  auto submission = DecodeSubmission(Encode(FullSubmission()));
  ASSERT_TRUE(submission.ok());
  EXPECT_EQ(*submission, FullSubmission());
  auto decision = DecodeDecision(Encode(FullDecision()));
  ASSERT_TRUE(decision.ok());
  EXPECT_EQ(*decision, FullDecision());
}

TEST(Wire, NumbersAloneAreShort) {
  EXPECT_EQ(Encode(Submission{.known = {1, 2, 3}}).size(), 4 + 3 * 4 + 4 + 1 + 4U);
}

TEST(Wire, EachPieceAndWhatFollowsIsRefused) {
  const std::string submission = Encode(FullSubmission());
  const std::string decision = Encode(FullDecision());
  for (size_t size = 0; size < submission.size(); ++size) {
    EXPECT_FALSE(DecodeSubmission(submission.substr(0, size)).ok()) << size;
  }
  for (size_t size = 0; size < decision.size(); ++size) {
    EXPECT_FALSE(DecodeDecision(decision.substr(0, size)).ok()) << size;
  }
  EXPECT_EQ(DecodeSubmission(submission + '\0').status().message(),
            "these bytes are no submission");
  EXPECT_FALSE(DecodeDecision(decision + 'x').ok());
}

TEST(Wire, ACountWithoutItsElementsTakesNoMemory) {
  EXPECT_FALSE(DecodeSubmission(std::string(4, '\xff')).ok());
  EXPECT_FALSE(DecodeSubmission(std::string(4, '\0') + std::string(4, '\xff')).ok());
}

TEST(Wire, ChoicesThatDoNotExist) {
  std::string decision = Encode(FullDecision());
  for (size_t place = 0; place < 3; ++place) {  // operation, type, reduce
    std::string wrong = decision;
    wrong[place] = 100;
    EXPECT_FALSE(DecodeDecision(wrong).ok()) << place;
  }
}

/// A message that is taken says the same when it is sent on.
TEST(Wire, AnyBytes) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = Encode(FullSubmission());
    for (int changes = 0; changes < 3; ++changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    auto taken = DecodeSubmission(bytes);
    EXPECT_TRUE(!taken.ok() || Encode(*taken) == bytes);
  }
}

}  // namespace
}  // namespace tony::collective
