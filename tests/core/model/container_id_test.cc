#include "core/model/container_id.h"

#include <gtest/gtest.h>

namespace tony::core {
namespace {

constexpr char kJob[] = "local-20261128-035246-a123";

TEST(ContainerIdTest, NumbersComeBack) {
  EXPECT_EQ(ContainerId(kJob, {.number = 7}), "local-20261128-035246-a123-c0007");
  EXPECT_EQ(ContainerId(kJob, {.incarnation = 2, .number = 12345}),
            "local-20261128-035246-a123-a2-c12345");
  for (const ContainerNumber& number :
       {ContainerNumber{1, 1}, ContainerNumber{1, 10000}, ContainerNumber{3, 42}}) {
    EXPECT_EQ(NumberOfContainer(kJob, ContainerId(kJob, number)), number);
  }
}

TEST(ContainerIdTest, OtherIdsHaveNoNumber) {
  for (const char* other : {"", "container_e17_1700000000000_0001_01_000002", "other-c0007", kJob,
                            "local-20261128-035246-a123-cX"}) {
    EXPECT_EQ(NumberOfContainer(kJob, other), ContainerNumber()) << other;
  }
}

}  // namespace
}  // namespace tony::core
