// Who may see the page of a job's program.
#include "web/gate/program_access.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "common/fake_clock.h"

namespace tony::web {
namespace {

class ProgramAccessTest : public ::testing::Test {
 protected:
  static RequestHead Get(const std::string& target) {
    RequestHead head;
    head.method = "GET";
    head.target = target;
    head.facts.host = "127.0.0.1:8081";
    return head;
  }
  static RequestHead At(const std::string& url) { return Get(url.substr(url.find('/', 7))); }
  int Status(const RequestHead& head) {
    const auto response = access_.Check(head);
    return response ? response->status : 200;
  }
  std::string Visit() {
    const auto response = access_.Check(At(access_.Invite()));
    EXPECT_TRUE(response && response->status == 303);
    EXPECT_EQ(response->headers.at(0).second, "/");
    const std::string cookie = response->headers.at(1).second;
    constexpr char kName[] = "tony-program-8081=";
    EXPECT_TRUE(absl::StartsWith(cookie, kName)) << cookie;
    EXPECT_TRUE(absl::EndsWith(cookie, "; Path=/; HttpOnly; SameSite=Strict")) << cookie;
    return cookie.substr(sizeof kName - 1, cookie.find(';') - sizeof kName + 1);
  }
  RequestHead WithCookie(const std::string& target = "/") {
    RequestHead head = Get(target);
    head.cookies.emplace_back("tony-program-8081", cookie_);
    return head;
  }

  FakeClock clock_;
  ProgramAccess access_{clock_, {.job_id = "job-1", .port = 8081}};
  const std::string cookie_ = Visit();
};

TEST_F(ProgramAccessTest, ACodeGivesACookieAndTheCookieTheProgram) {
  EXPECT_EQ(Status(WithCookie()), 200);
  EXPECT_EQ(Status(WithCookie("/data/runs?x")), 200);
  clock_.Advance(std::chrono::hours(12));
  EXPECT_EQ(Status(WithCookie()), 403);
}

TEST_F(ProgramAccessTest, TheHostHasOneName) {
  EXPECT_TRUE(absl::StartsWith(access_.Invite(), "http://127.0.0.1:8081/"));
  // Another user may listen at [::1], which is "localhost" as well.
  RequestHead head = At(access_.Invite());
  for (const char* name : {"localhost:8081", "[::1]:8081", "127.0.0.1"}) {
    head.facts.host = name;
    const auto refused = access_.Check(head);
    ASSERT_TRUE(refused) << name;
    EXPECT_EQ(refused->status, 403) << name;
    EXPECT_TRUE(refused->headers.empty()) << name;
    EXPECT_TRUE(absl::StrContains(refused->sentence, "http://127.0.0.1:8081."))
        << refused->sentence;
  }
  head.facts.host = "127.0.0.1:8081";
  head.facts.origin = "http://localhost:8081";
  EXPECT_EQ(Status(head), 403);
  head.facts.origin = "";
  EXPECT_EQ(Status(head), 303);  // the code is still good
}

TEST_F(ProgramAccessTest, WithoutACookieTheSentenceNamesTheCommand) {
  const auto refused = access_.Check(Get("/"));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 403);
  EXPECT_TRUE(absl::StrContains(refused->sentence, "tony open job-1")) << refused->sentence;
}

TEST_F(ProgramAccessTest, ACodeIsGoodOnceAndForAShortTime) {
  const std::string url = access_.Invite();
  EXPECT_EQ(Status(At(url + "0")), 403);
  EXPECT_EQ(Status(At(url)), 303);
  EXPECT_EQ(Status(At(url)), 403);
  const std::string late = access_.Invite();
  clock_.Advance(std::chrono::minutes(2));
  EXPECT_EQ(Status(At(late)), 403);
}

TEST_F(ProgramAccessTest, TheLoginIsNeverTheProgrammes) {
  // The address of the first visit, from the history, with a cookie.
  RequestHead again = At(access_.Invite());
  again.target.back() = again.target.back() == '0' ? '1' : '0';
  again.cookies.emplace_back("tony-program-8081", cookie_);
  const auto led = access_.Check(again);
  ASSERT_TRUE(led);
  EXPECT_EQ(led->status, 303);
  EXPECT_EQ(led->headers.size(), 1U);  // no new cookie
}

TEST_F(ProgramAccessTest, OtherCookiesDoNotHelp) {
  ProgramAccess other(clock_, {.job_id = "job-2", .port = 8081});
  const auto welcome = other.Check(At(other.Invite()));
  ASSERT_TRUE(welcome);
  const std::string cookie = welcome->headers.at(1).second;
  RequestHead head = Get("/");
  head.cookies.emplace_back("tony-program-8081", cookie.substr(18, 32));
  EXPECT_EQ(Status(head), 403);
  head = Get("/");
  head.cookies.emplace_back("tony-page", cookie_);
  EXPECT_EQ(Status(head), 403);
}

TEST_F(ProgramAccessTest, ACookieOfTheProgramsWithTheSameNameLogsNobodyOut) {
  RequestHead head = WithCookie();
  head.cookies.insert(head.cookies.begin(), {"tony-program-8081", "x"});
  EXPECT_EQ(Status(head), 200);
  head.cookies.pop_back();
  EXPECT_EQ(Status(head), 403);
}

TEST_F(ProgramAccessTest, ANewVisitorsBrowserForgetsWhatAnotherProgramKeptThere) {
  const auto forgets = [&](const RequestHead& head) -> std::string {
    const auto welcome = access_.Check(head);
    if (!welcome || welcome->status != 303) return "no welcome";
    for (const auto& [name, value] : welcome->headers) {
      if (name == "Clear-Site-Data") return value;
    }
    return "";
  };
  RequestHead head = At(access_.Invite());
  head.cookies.emplace_back("tony-program-8081", "of an earlier gate");
  EXPECT_EQ(forgets(head), "\"cache\", \"storage\"");
  // What this program has kept stays, also when the visitor comes again with a new code.
  head = WithCookie(head.target);
  EXPECT_EQ(forgets(head), "");
  head = At(access_.Invite());
  head.cookies.emplace_back("tony-program-8081", cookie_);
  EXPECT_EQ(forgets(head), "");
}

TEST_F(ProgramAccessTest, ForeignHostsAndOrigins) {
  RequestHead head = WithCookie();
  head.facts.host = "evil.example:8081";
  EXPECT_EQ(Status(head), 403);
  head = WithCookie();
  head.facts.origin = "http://127.0.0.1:8080";  // even the job's page
  EXPECT_EQ(Status(head), 403);
  head.facts.origin = "http://127.0.0.1:8081";
  EXPECT_EQ(Status(head), 200);
}

TEST_F(ProgramAccessTest, AnotherPageMayLeadHereButNotUseTheProgram) {
  RequestHead head = WithCookie();
  head.facts.fetch_site = "same-site";  // another port of the host
  head.fetch_mode = "no-cors";
  EXPECT_EQ(Status(head), 403);
  head.fetch_mode = "navigate";
  EXPECT_EQ(Status(head), 200);
  head.method = "POST";
  EXPECT_EQ(Status(head), 403);
  head.facts.fetch_site = "same-origin";
  EXPECT_EQ(Status(head), 200);
  head.facts.fetch_site = "none";  // typed by the visitor
  EXPECT_EQ(Status(head), 200);
}

TEST_F(ProgramAccessTest, NothingStaysInTheBrowserForTheNextOneAtThisPort) {
  RequestHead head = WithCookie("/sw.js");
  head.service_worker = true;
  EXPECT_EQ(Status(head), 403);
}

}  // namespace
}  // namespace tony::web
