// Ids of containers in both forms.
#include "backend/yarn/container_id.h"

#include "gtest/gtest.h"

namespace tony::backend {
namespace {

::hadoop::yarn::ContainerIdProto Id(int64_t id) {
  ::hadoop::yarn::ContainerIdProto message;
  message.mutable_app_attempt_id()->mutable_application_id()->set_cluster_timestamp(1700000000123);
  message.mutable_app_attempt_id()->mutable_application_id()->set_id(7);
  message.mutable_app_attempt_id()->set_attemptid(2);
  message.set_id(id);
  return message;
}

TEST(ContainerIdTest, HasHadoopsForm) {
  EXPECT_EQ(ContainerIdText(Id(5)), "container_1700000000123_0007_02_000005");
  EXPECT_EQ(ContainerIdText(Id((int64_t{17} << 40) + 1234567)),
            "container_e17_1700000000123_0007_02_1234567");
}

TEST(ContainerIdTest, IsReadBack) {
  for (const int64_t number :
       {int64_t{1}, (int64_t{1} << 40) + 2, (int64_t{120} << 40) + 1234567}) {
    const std::string text = ContainerIdText(Id(number));
    const auto parsed = ParseContainerId(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->SerializeAsString(), Id(number).SerializeAsString()) << text;
  }
}

TEST(ContainerIdTest, OthersAreRefused) {
  for (const char* const text :
       {"", "container", "job-1-c0001", "container_1_2_3", "container_e_1_2_3_4",
        "container_x17_1_2_3_4", "container_1_2_3_-4", "container_1_2_3_9999999999999",
        "application_1_2_3_4", "container_1_2_3_4_5_6_7"}) {
    EXPECT_FALSE(ParseContainerId(text).ok()) << text;
  }
}

}  // namespace
}  // namespace tony::backend
