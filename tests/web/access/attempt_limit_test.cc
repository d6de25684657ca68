// Attempts are bounded in number and time.
#include "web/access/attempt_limit.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"

namespace tony::web {
namespace {

TEST(AttemptLimit, ForANameFromAnywhere) {
  FakeClock clock;
  AttemptLimit limit(clock);
  for (int i = 0; i < AttemptLimit::kMostOfName; ++i) {
    EXPECT_EQ(limit.Try(absl::StrCat("10.0.0.", i), "alice").count(), 0);
  }
  EXPECT_EQ(limit.Try("10.0.1.1", "alice").count(), 600);
  EXPECT_EQ(limit.Try("10.0.1.1", "bob").count(), 0);
  clock.Advance(std::chrono::minutes(9));
  EXPECT_EQ(limit.Try("10.0.1.1", "alice").count(), 60) << "a refused attempt is no attempt";
  clock.Advance(std::chrono::minutes(1));
  EXPECT_EQ(limit.Try("10.0.1.1", "alice").count(), 0);
}

TEST(AttemptLimit, MadeUpNamesAndAddressesDoNotMakeItForget) {
  FakeClock clock;
  AttemptLimit limit(clock);
  for (int i = 0; i < AttemptLimit::kMostOfName; ++i) {
    ASSERT_EQ(limit.Try(absl::StrCat("10.0.0.", i), "alice").count(), 0);
  }
  clock.Advance(std::chrono::minutes(1));
  for (size_t i = 0; i < 2 * AttemptLimit::kMostRemembered; ++i) {
    limit.Try("10.0.1.1", absl::StrCat("name", i));
    limit.Try(absl::StrCat("10.1.", i / 256, ".", i % 256), absl::StrCat("other", i));
  }
  EXPECT_EQ(limit.Try("10.0.2.1", "alice").count(), 540);
  EXPECT_GT(limit.Try("10.0.1.1", "carol").count(), 0);
}

TEST(AttemptLimit, AllAddressesOfThisMachineAreOne) {
  FakeClock clock;
  AttemptLimit limit(clock);
  for (int i = 0; i < AttemptLimit::kMostOfAddress; ++i) {
    ASSERT_EQ(limit.Try(absl::StrCat("127.0.", i, ".1"), absl::StrCat("name", i)).count(), 0);
  }
  EXPECT_GT(limit.Try("127.9.9.9", "bob").count(), 0);
  EXPECT_EQ(limit.Try("128.9.9.9", "bob").count(), 0);
}

TEST(AttemptLimit, FromAnAddressForAnyName) {
  FakeClock clock;
  AttemptLimit limit(clock);
  for (int i = 0; i < AttemptLimit::kMostOfAddress; ++i) {
    EXPECT_EQ(limit.Try(absl::StrCat("2001:db8::", i), absl::StrCat("user", i)).count(), 0);
  }
  EXPECT_GT(limit.Try("2001:db8::ffff", "alice").count(), 0) << "one network of 64 bits";
  EXPECT_EQ(limit.Try("2001:db8:0:1::1", "alice").count(), 0);
}

TEST(AttemptLimit, ARightPasswordCostsNothing) {
  FakeClock clock;
  AttemptLimit limit(clock);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(limit.Try("10.0.0.1", "alice").count(), 0) << i;
    limit.Succeeded("10.0.0.1", "alice");
  }
}

TEST(AttemptLimit, RemembersABoundedNumber) {
  FakeClock clock;
  AttemptLimit limit(clock);
  for (size_t i = 0; i < AttemptLimit::kMostRemembered * 2; ++i) {
    limit.Try(absl::StrCat("a", i), absl::StrCat("n", i));
  }
  // The first ones were forgotten: each begins anew.
  EXPECT_EQ(limit.Try("a0", "n0").count(), 0);
}

}  // namespace
}  // namespace tony::web
