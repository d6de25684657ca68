// Sessions and attempts are bounded in number and time.
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "portal/login/attempt_limit.h"
#include "portal/login/login_page.h"
#include "portal/login/sessions.h"

namespace tony::portal {
namespace {

TEST(Sessions, EndAfterTheirTimeAndWhenTheyAreEnded) {
  FakeClock clock;
  Sessions sessions(clock);
  const std::string one = sessions.Begin("alice", "h");
  clock.Advance(std::chrono::hours(1));
  const std::string other = sessions.Begin("alice", "h");
  ASSERT_NE(sessions.Find(one), nullptr);
  EXPECT_EQ(sessions.Find(one)->user, "alice");
  EXPECT_EQ(sessions.Find(""), nullptr);
  clock.Advance(std::chrono::hours(11));
  EXPECT_EQ(sessions.Find(one), nullptr);
  EXPECT_NE(sessions.Find(other), nullptr);
  sessions.End(other);
  EXPECT_EQ(sessions.Find(other), nullptr);
}

TEST(Sessions, OneUserDoesNotEndThoseOfAnother) {
  FakeClock clock;
  Sessions sessions(clock);
  const std::string bobs = sessions.Begin("bob", "h");
  const std::string first = sessions.Begin("alice", "h");
  for (size_t i = 0; i < Sessions::kMostOfUser * 3; ++i) sessions.Begin("alice", "h");
  EXPECT_EQ(sessions.Find(first), nullptr);
  EXPECT_NE(sessions.Find(bobs), nullptr);
  for (size_t i = 0; i < Sessions::kMost; ++i) sessions.Begin(absl::StrCat("user", i), "h");
  EXPECT_EQ(sessions.Find(bobs), nullptr);
}

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

TEST(LoginPage, LeadsToPagesOfThePortalOnly) {
  EXPECT_EQ(SafeNext("/jobs/local-1@2/"), "/jobs/local-1@2/");
  for (const char* const other : {"", "//evil.example/", "https://evil.example", "/jobs/\"><b>",
                                  "/jobs/\\evil", "/logout", "jobs/x"}) {
    EXPECT_EQ(SafeNext(other), "/") << other;
  }
  const web::HttpResponse page = LoginPage(403, "/", "<b>");
  EXPECT_TRUE(page.has_form);
  EXPECT_EQ(page.body.find("<b>"), std::string::npos);
}

}  // namespace
}  // namespace tony::portal
