// Tests what a rank does with a decision on tensors that it does not have.
#include "collective/engine/execution.h"

#include <gtest/gtest.h>

#include "tests/collective/host/host_ranks.h"
#include "tests/collective/patience.h"

namespace tony::collective {
namespace {

/// A sum of one tensor, of which rank 1 has none.
Status WithoutRank1(HostGroup& group, bool has_joined, float& value) {
  Decision decision;
  decision.tensors.push_back({.name = "t", .elements = 1});
  Tensor tensor;
  if (group.rank() == 0) {
    tensor = {.in = &value, .out = &value, .on_done = [](const Status&) {}};
  } else {
    tensor.joined = has_joined;
  }
  std::vector<Output> outputs(1);
  return Execution(group).Run(decision, {tensor}, outputs, After(kPatience));
}

TEST(Execution, WhoHasJoinedNeedsNoTensor) {
  InThreads(2, [](HostGroup& group) {
    float value = 3;
    const Status done = WithoutRank1(group, true, value);
    EXPECT_TRUE(done.ok()) << done.message();
    EXPECT_EQ(value, 3);
  });
}

/// Its failure is known to it before the others: they would take zeros for its data.
TEST(Execution, WhoHasGivenUpItsTensorTakesNoPart) {
  InThreads(2, [](HostGroup& group) {
    float value = 3;
    const Status done = WithoutRank1(group, false, value);
    EXPECT_EQ(done.code(), Code::kAborted);
    EXPECT_EQ(done.message(),
              group.rank() == 1
                  ? "tensor 't' is decided on, but rank 1 has given it up"
                  : "rank 1 of this host has ended, in " + std::string("the operation on 't'"));
  });
}

}  // namespace
}  // namespace tony::collective
