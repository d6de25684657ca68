// Who is let in by a file of users, and who by a proxy's header.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "os/files/files.h"
#include "os/files/password_hash.h"
#include "portal/login/header_access.h"
#include "portal/login/users_access.h"
#include "tests/common/loop_driver.h"
#include "tests/os/temporary_folder.h"

namespace tony::portal {
namespace {

using ::testing::HasSubstr;

constexpr char kOrigin[] = "https://portal.example:8443";

int StatusOf(const std::variant<Visitor, web::HttpResponse>& checked) {
  const auto* const response = std::get_if<web::HttpResponse>(&checked);
  return response == nullptr ? 200 : response->status;
}

web::HttpRequest Get(const std::string& path) {
  web::HttpRequest request;
  request.host = "portal.example:8443";
  request.peer_address = "10.0.0.9";
  request.accept = "text/html";
  request.path = path;
  return request;
}

class UsersAccessTest : public ::testing::Test {
 protected:
  UsersAccessTest() {
    WriteUsers("correct horse", "view");
    auto access = UsersAccess::Create({driver_.loop(), clock_, path(), {"portal.example"}});
    EXPECT_TRUE(access.ok()) << access.status();
    access_ = *std::move(access);
  }

  std::string path() const { return folder_.path() + "/users"; }
  void WriteUsers(const std::string& password, const std::string& role) {
    const std::string line = absl::StrCat("alice:", role, ":", os::HashPassword(password).value());
    EXPECT_TRUE(os::WriteFileAtomically(path(), line).ok());
  }

  web::HttpResponse Post(const std::string& place, const std::string& body,
                         const std::string& cookie = "", const std::string& origin = kOrigin) {
    web::HttpRequest request = Get("/" + place);
    request.post = true;
    request.origin = origin;
    request.content_type = "application/x-www-form-urlencoded";
    request.body = body;
    request.cookies["__Host-tony-portal"] = cookie;
    std::optional<web::HttpResponse> got;
    access_->Handle(request, place, [&](web::HttpResponse response) {
      got = std::move(response);
      driver_.Changed();
    });
    EXPECT_TRUE(driver_.Await([&] { return got.has_value(); }));
    return got.value_or(web::HttpResponse{});
  }
  /// The cookie of a login; empty: it was refused.
  std::string LogIn(const std::string& password) {
    const web::HttpResponse response = Post("login", "name=alice&password=" + password);
    if (response.status != 303) return "";
    const std::string cookie = response.headers.at(1).second;
    EXPECT_THAT(cookie, HasSubstr("; Path=/; Secure; HttpOnly; SameSite=Strict"));
    return cookie.substr(cookie.find('=') + 1, cookie.find(';') - cookie.find('=') - 1);
  }
  std::variant<Visitor, web::HttpResponse> Visit(const std::string& cookie) {
    web::HttpRequest request = Get("/");
    request.cookies["__Host-tony-portal"] = cookie;
    return access_->Check(request);
  }

  os::TemporaryFolder folder_;
  LoopDriver driver_;
  FakeClock clock_;
  std::unique_ptr<UsersAccess> access_;
};

TEST_F(UsersAccessTest, ThePasswordLetsIn) {
  EXPECT_EQ(StatusOf(Visit("")), 403);
  EXPECT_EQ(LogIn("wrong"), "");
  const std::string cookie = LogIn("correct+horse");
  ASSERT_NE(cookie, "");
  const auto visit = Visit(cookie);
  ASSERT_EQ(StatusOf(visit), 200);
  EXPECT_EQ(std::get<Visitor>(visit).name, "alice");
  EXPECT_EQ(std::get<Visitor>(visit).role, Role::kView);
  EXPECT_EQ(StatusOf(Visit(cookie + "0")), 403);
  EXPECT_EQ(Post("logout", "", cookie).status, 303);
  EXPECT_EQ(StatusOf(Visit(cookie)), 403);
}

TEST_F(UsersAccessTest, TheFileIsFollowed) {
  const std::string cookie = LogIn("correct+horse");
  ASSERT_NE(cookie, "");
  const std::string hash = std::string(os::ReadFile(path()).value()).substr(11);
  ASSERT_TRUE(os::WriteFileAtomically(path(), "alice:control:" + hash).ok());
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(std::get<Visitor>(Visit(cookie)).role, Role::kControl);
  WriteUsers("another one", "control");
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(StatusOf(Visit(cookie)), 403) << "a new password ends the sessions of the old one";
  EXPECT_EQ(LogIn("correct+horse"), "");
  EXPECT_NE(LogIn("another+one"), "");
}

TEST_F(UsersAccessTest, AfterTooManyAttemptsTheRightPasswordHasToWait) {
  for (int i = 0; i < web::AttemptLimit::kMostOfName; ++i) EXPECT_EQ(LogIn("wrong"), "");
  const web::HttpResponse refused = Post("login", "name=alice&password=correct+horse");
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.body, HasSubstr("10 minutes"));
  clock_.Advance(web::AttemptLimit::kWindow);
  EXPECT_NE(LogIn("correct+horse"), "");
}

TEST_F(UsersAccessTest, OtherSitesHaveNoLogin) {
  const std::string form = "name=alice&password=correct+horse";
  EXPECT_EQ(Post("login", form, "", "").status, 403);
  EXPECT_EQ(Post("login", form, "", "null").status, 403);
  EXPECT_EQ(Post("login", form, "", "https://evil.example").status, 403);
  EXPECT_EQ(Post("login", form, "", "https://portal.example:9").status, 403);
  EXPECT_EQ(Post("login", form, "", "http://portal.example:8443").status, 403);
  EXPECT_EQ(Post("login", "name=bob&password=correct+horse").status, 403) << "there is no bob";
  EXPECT_EQ(Post("login", "name=alice&password=%0").status, 400);
  const std::string cookie = LogIn("correct+horse");
  web::HttpRequest request = Get("/");
  request.cookies["__Host-tony-portal"] = cookie;
  EXPECT_EQ(StatusOf(access_->Check(request)), 200);
  request.host = "evil.example:8443";
  EXPECT_EQ(StatusOf(access_->Check(request)), 403);
}

TEST_F(UsersAccessTest, AVisitFromAnotherSitesLinkAsksOnceMore) {
  web::HttpRequest request = Get("/jobs/local-1/");
  request.fetch_site = "cross-site";
  const auto again = access_->Check(request);
  EXPECT_EQ(StatusOf(again), 200);
  EXPECT_THAT(std::get<web::HttpResponse>(again).body, HasSubstr("http-equiv=\"refresh\""));
  request.fetch_site = "same-origin";
  EXPECT_THAT(std::get<web::HttpResponse>(access_->Check(request)).body,
              HasSubstr("value=\"/jobs/local-1/\""));
}

TEST(HeaderAccess, BelievesTheProxyAlone) {
  HeaderAccess access({"X-Forwarded-User", {"10.0.0.9"}, {"alice"}, {"portal.example"}});
  web::HttpRequest request = Get("/");
  EXPECT_EQ(StatusOf(access.Check(request)), 403) << "no name";
  request.user_names = {"alice"};
  EXPECT_EQ(std::get<Visitor>(access.Check(request)).role, Role::kControl);
  request.user_names = {"bob"};
  EXPECT_EQ(std::get<Visitor>(access.Check(request)).role, Role::kView);
  request.user_names = {"bob", "alice"};
  EXPECT_EQ(StatusOf(access.Check(request)), 403) << "a proxy that adds to its client's header";
  request.user_names = {""};
  EXPECT_EQ(StatusOf(access.Check(request)), 403);
  request.user_names = {"alice"};
  request.host = "evil.example";
  EXPECT_EQ(StatusOf(access.Check(request)), 403);
  request = Get("/");
  request.user_names = {"alice"};
  request.peer_address = "10.0.0.10";
  const auto refused = access.Check(request);
  EXPECT_EQ(StatusOf(refused), 403);
  EXPECT_THAT(std::get<web::HttpResponse>(refused).sentence, HasSubstr("not logged in"));
}

}  // namespace
}  // namespace tony::portal
