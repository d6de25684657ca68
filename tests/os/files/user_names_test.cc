// Users by name and by number.
#include "os/files/user_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::os {
namespace {

TEST(UserNames, AUserIsFoundByNameAndByNumber) {
  EXPECT_EQ(UserNumber("root").value(), 0U);
  EXPECT_EQ(UserName(0), "root");
}

TEST(UserNames, WhoIsNotThereIsNotFound) {
  const absl::Status missing = UserNumber("nobody-of-this-name").status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_THAT(std::string(missing.message()), ::testing::HasSubstr("nobody-of-this-name"));
  EXPECT_EQ(UserName(4'000'000'000), "4000000000");
}

}  // namespace
}  // namespace tony::os
