// Sessions and attempts are bounded in number and time.
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
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
