// Tests who may see the pages: by codes and cookies, or through YARN's proxy.
#include "web/access/access.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "web/access/access_list.h"
#include "web/access/code_access.h"
#include "web/access/proxy_access.h"

namespace tony::web {
namespace {

int StatusOf(const std::optional<HttpResponse>& response) {
  return response ? response->status : 200;
}

class CodeAccessTest : public ::testing::Test {
 protected:
  /// As a browser asks for what is at `url`.
  HttpRequest Get(const std::string& url) const {
    HttpRequest request;
    request.host = "127.0.0.1:8080";
    request.peer_address = "127.0.0.1";
    const std::string rest = url.substr(std::string("http://127.0.0.1:8080").size());
    request.path = rest.substr(0, rest.find('?'));
    if (rest.find("?code=") != std::string::npos) {
      request.query["code"] = rest.substr(rest.find("?code=") + 6);
    }
    return request;
  }
  HttpRequest Page() const {
    HttpRequest request = Get("http://127.0.0.1:8080/");
    request.path = access_.base_path();
    return request;
  }
  /// The cookie that a visit of `url` gives.
  std::string Visit(const std::string& url) {
    const std::optional<HttpResponse> response = access_.Check(Get(url));
    EXPECT_EQ(StatusOf(response), 303);
    if (StatusOf(response) != 303) return "";
    EXPECT_EQ(response->headers[0], (std::pair<std::string, std::string>{"Location", "./"}));
    const std::string cookie = response->headers[1].second;
    EXPECT_TRUE(absl::StrContains(
        cookie, absl::StrCat("; Path=", access_.base_path(), "; HttpOnly; SameSite=Strict")))
        << cookie;
    return cookie.substr(10, cookie.find(';') - 10);
  }

  FakeClock clock_;
  CodeAccess access_{clock_, {.job_id = "job-1", .port = 8080}};
};

TEST_F(CodeAccessTest, ACodeGivesACookieAndTheCookieThePage) {
  HttpRequest request = Page();
  request.cookies["tony-page"] = Visit(access_.Invite());
  EXPECT_EQ(StatusOf(access_.Check(request)), 200);
  request.head = true;
  EXPECT_EQ(StatusOf(access_.Check(request)), 200);
}

TEST_F(CodeAccessTest, WithoutACookieTheSentenceNamesTheCommand) {
  const std::optional<HttpResponse> refused = access_.Check(Page());
  EXPECT_EQ(StatusOf(refused), 403);
  EXPECT_TRUE(absl::StrContains(refused->body, "tony open job-1")) << refused->body;
}

TEST_F(CodeAccessTest, ACodeIsGoodOnce) {
  const std::string url = access_.Invite();
  const std::string cookie = Visit(url);
  EXPECT_EQ(StatusOf(access_.Check(Get(url))), 403);
  // But who has been let in may reload the address.
  HttpRequest again = Get(url);
  again.cookies["tony-page"] = cookie;
  EXPECT_EQ(StatusOf(access_.Check(again)), 200);
}

TEST_F(CodeAccessTest, ACodeIsGoodForAShortTime) {
  const std::string url = access_.Invite();
  clock_.Advance(std::chrono::minutes(2));
  EXPECT_EQ(StatusOf(access_.Check(Get(url))), 403);
}

TEST_F(CodeAccessTest, AVisitEnds) {
  HttpRequest request = Page();
  request.cookies["tony-page"] = Visit(access_.Invite());
  clock_.Advance(std::chrono::hours(12));
  EXPECT_EQ(StatusOf(access_.Check(request)), 403);
}

TEST_F(CodeAccessTest, VisitsOutliveTheProcessButNoLongerThanTheyWould) {
  CodeAccess::Kept kept;
  CodeAccess before(clock_, {.job_id = "job-1", .port = 8080, .on_visit = [&](const auto& visits) {
                               kept = visits;
                             }});
  for (int visit = 0; visit < 2; ++visit) {
    EXPECT_EQ(StatusOf(before.Check(Get(before.Invite()))), 303);
    clock_.Advance(std::chrono::hours(7));
  }
  ASSERT_EQ(kept.visits.size(), 2u);
  EXPECT_EQ(kept.base_path, before.base_path());
  // Another process has a monotonic clock of its own; the wall clock is the same.
  FakeClock clock;
  clock.SetWallClock(std::chrono::milliseconds(clock_.UnixMillis() - clock.UnixMillis()));
  CodeAccess after(clock, {.job_id = "job-1", .port = 8080, .kept = kept});
  HttpRequest request = Page();
  request.path = after.base_path();
  EXPECT_EQ(after.base_path(), before.base_path());
  EXPECT_EQ(StatusOf(after.Check(request)), 403);
  request.cookies["tony-page"] = kept.visits[0].secret;
  EXPECT_EQ(StatusOf(after.Check(request)), 403) << "its twelve hours are over";
  request.cookies["tony-page"] = kept.visits[1].secret;
  EXPECT_EQ(StatusOf(after.Check(request)), 200);
  clock.Advance(std::chrono::hours(5));
  EXPECT_EQ(StatusOf(after.Check(request)), 403);
}

TEST_F(CodeAccessTest, AVisitOfTheFutureIsNoLongerThanAnother) {
  CodeAccess::Kept kept{"/place/", {{"secret", clock_.UnixMillis() + 1'000 * 86'400'000LL}}};
  CodeAccess after(clock_, {.job_id = "job-1", .port = 8080, .kept = kept});
  HttpRequest request = Page();
  request.path = "/place/";
  request.cookies["tony-page"] = "secret";
  EXPECT_EQ(StatusOf(after.Check(request)), 200);
  clock_.Advance(std::chrono::hours(12));
  EXPECT_EQ(StatusOf(after.Check(request)), 403);
}

TEST_F(CodeAccessTest, WrongCodesAndCookies) {
  const std::string url = access_.Invite();
  std::string wrong = url;
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  EXPECT_EQ(StatusOf(access_.Check(Get(wrong))), 403);
  EXPECT_EQ(StatusOf(access_.Check(Get(url.substr(0, url.size() - 1)))), 403);
  HttpRequest request = Page();
  for (const std::string& cookie : {std::string(), std::string(32, '0'), access_.base_path()}) {
    request.cookies["tony-page"] = cookie;
    EXPECT_EQ(StatusOf(access_.Check(request)), 403) << cookie;
  }
  Visit(url);
}

TEST_F(CodeAccessTest, LookingAtHeadersUsesNoCodeUp) {
  const std::string url = access_.Invite();
  HttpRequest head = Get(url);
  head.head = true;
  EXPECT_EQ(StatusOf(access_.Check(head)), 403);
  Visit(url);
}

TEST_F(CodeAccessTest, OtherNamesSitesPlacesAndMachines) {
  const std::string url = access_.Invite();
  HttpRequest request = Get(url);
  request.host = "evil.example:8080";
  EXPECT_EQ(StatusOf(access_.Check(request)), 403);
  request = Get(url);
  request.origin = "http://evil.example";
  EXPECT_EQ(StatusOf(access_.Check(request)), 403);
  request.origin = "null";
  EXPECT_EQ(StatusOf(access_.Check(request)), 403);
  request = Get(url);
  request.path = "/";
  EXPECT_EQ(StatusOf(access_.Check(request)), 403);
  request = Get(url);
  request.peer_address = "10.0.0.1";
  EXPECT_EQ(StatusOf(access_.Check(request)), 403);
  request = Get(url);
  request.origin = "http://localhost:8080";
  EXPECT_EQ(StatusOf(access_.Check(request)), 403);
  request.origin = "http://127.0.0.1:8080";
  EXPECT_EQ(StatusOf(access_.Check(request)), 303);
}

// Another user may listen at [::1], which is "localhost" as well.
TEST_F(CodeAccessTest, TheHostHasOneName) {
  HttpRequest request = Get(access_.Invite());
  request.host = "localhost:8080";
  const std::optional<HttpResponse> refused = access_.Check(request);
  EXPECT_EQ(StatusOf(refused), 403);
  EXPECT_TRUE(refused->headers.empty());  // nothing leads the code on
  EXPECT_TRUE(absl::StrContains(refused->sentence, "http://127.0.0.1:8080.")) << refused->sentence;
  request.host = "127.0.0.1:8080";
  EXPECT_EQ(StatusOf(access_.Check(request)), 303);  // the code is still good
}

TEST_F(CodeAccessTest, PlacesAndCodesAreDrawnAnew) {
  const CodeAccess other(clock_, {.job_id = "job-1", .port = 8080});
  EXPECT_NE(access_.base_path(), other.base_path());
  EXPECT_EQ(access_.base_path().size(), 34U);
  EXPECT_NE(access_.Invite(), access_.Invite());
}

TEST_F(CodeAccessTest, TheOldestCodeGoesWhenThereAreMany) {
  const std::string first = access_.Invite();
  std::string last;
  for (int i = 0; i < 16; ++i) last = access_.Invite();
  EXPECT_EQ(StatusOf(access_.Check(Get(first))), 403);
  Visit(last);
}

TEST(EqualInConstantTime, Compares) {
  EXPECT_TRUE(EqualInConstantTime("", ""));
  EXPECT_TRUE(EqualInConstantTime("abc", "abc"));
  EXPECT_FALSE(EqualInConstantTime("abc", "abd"));
  EXPECT_FALSE(EqualInConstantTime("abc", "ab"));
}

TEST(AccessList, AsHadoopWritesThem) {
  const AccessList list = AccessList::Parse("alice, bob researchers,admins");
  EXPECT_TRUE(list.Allows("alice"));
  // A space ends the users, as in Hadoop.
  EXPECT_FALSE(list.Allows("bob"));
  const AccessList plain = AccessList::Parse("alice,bob researchers,admins");
  EXPECT_TRUE(plain.Allows("bob"));
  EXPECT_EQ(plain.groups, (std::vector<std::string>{"researchers", "admins"}));
  EXPECT_FALSE(plain.Allows("admins"));
  EXPECT_TRUE(AccessList::Parse("*").Allows("anybody"));
  EXPECT_TRUE(AccessList::Parse(" * ").Allows("anybody"));
  EXPECT_FALSE(AccessList::Parse(" ").Allows("anybody"));
  EXPECT_FALSE(AccessList::Parse("").Allows(""));
  const AccessList groups = AccessList::Parse(" researchers");
  EXPECT_EQ(groups.groups, std::vector<std::string>{"researchers"});
  EXPECT_FALSE(groups.Allows("researchers"));
}

ProxyAccess::Options Cluster() {
  ProxyAccess::Options options;
  options.proxy_addresses = {"10.0.0.1", "10.0.0.2"};
  options.hosts = {"node7:8080"};
  options.origins = {"http://rm:8088"};
  options.page_url = "http://rm:8088/proxy/application_1_1/";
  options.lists_apply = true;
  options.owner = "alice";
  options.administrators = AccessList::Parse("yarn wheel");
  options.viewers = AccessList::Parse("bob research");
  return options;
}

HttpRequest FromProxy(const std::string& user) {
  HttpRequest request;
  request.path = "/";
  request.host = "node7:8080";
  request.peer_address = "10.0.0.2";
  if (!user.empty()) request.cookies["proxy-user"] = user;
  return request;
}

TEST(ProxyAccess, OwnerViewersAndAdministratorsMayLook) {
  ProxyAccess access(Cluster());
  EXPECT_EQ(access.base_path(), "/");
  for (const char* user : {"alice", "bob", "yarn"}) {
    EXPECT_EQ(StatusOf(access.Check(FromProxy(user))), 200) << user;
  }
  const std::optional<HttpResponse> refused = access.Check(FromProxy("mallory"));
  EXPECT_EQ(StatusOf(refused), 403);
  EXPECT_TRUE(absl::StrContains(refused->body, "User mallory may not see")) << refused->body;
  EXPECT_EQ(StatusOf(access.Check(FromProxy("research"))), 403);
  EXPECT_EQ(StatusOf(access.Check(FromProxy("dr.who"))), 403);
}

TEST(ProxyAccess, WithoutANameOnlyWhereNoListsApply) {
  ProxyAccess::Options options = Cluster();
  EXPECT_EQ(StatusOf(ProxyAccess(options).Check(FromProxy(""))), 403);
  options.lists_apply = false;
  EXPECT_EQ(StatusOf(ProxyAccess(options).Check(FromProxy(""))), 200);
  EXPECT_EQ(StatusOf(ProxyAccess(options).Check(FromProxy("dr.who"))), 200);
}

TEST(ProxyAccess, OnlyTheProxysHostsAreAnswered) {
  ProxyAccess::Options options = Cluster();
  options.lists_apply = false;
  ProxyAccess access(options);
  HttpRequest request = FromProxy("alice");
  request.peer_address = "10.0.0.3";
  const std::optional<HttpResponse> refused = access.Check(request);
  EXPECT_EQ(StatusOf(refused), 403);
  EXPECT_TRUE(absl::StrContains(refused->body, options.page_url)) << refused->body;
  EXPECT_EQ(StatusOf(access.Check(FromProxy("alice"))), 200);
}

TEST(ProxyAccess, ConnectionsOfOtherHostsAreClosed) {
  const PeerCheck check = ProxyPeerCheck(Cluster().proxy_addresses);
  EXPECT_TRUE(check({.peer_address = "10.0.0.2"}).ok());
  const absl::Status refused = check({.peer_address = "10.0.0.3"});
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "10.0.0.1, 10.0.0.2")) << refused;
  EXPECT_FALSE(ProxyPeerCheck({})({.peer_address = "127.0.0.1"}).ok());
}

TEST(ProxyAccess, HostAndOrigin) {
  ProxyAccess access(Cluster());
  HttpRequest request = FromProxy("alice");
  request.host = "evil.example";
  EXPECT_EQ(StatusOf(access.Check(request)), 403);
  request = FromProxy("alice");
  request.origin = "http://rm:8088";
  EXPECT_EQ(StatusOf(access.Check(request)), 200);
  request.origin = "http://evil.example";
  EXPECT_EQ(StatusOf(access.Check(request)), 403);
}

TEST(ProxyAccess, NamesComeEncoded) {
  ProxyAccess::Options options = Cluster();
  options.owner = "alice@EXAMPLE.COM";
  ProxyAccess access(options);
  EXPECT_EQ(StatusOf(access.Check(FromProxy("alice%40EXAMPLE.COM"))), 200);
  EXPECT_EQ(StatusOf(access.Check(FromProxy("alice%4"))), 403);
  const std::optional<HttpResponse> refused = access.Check(FromProxy("%3Cscript%3E"));
  EXPECT_FALSE(absl::StrContains(refused->body, "<script")) << refused->body;
}

}  // namespace
}  // namespace tony::web
