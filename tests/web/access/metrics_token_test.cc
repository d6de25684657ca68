// Which requests may read metrics, and how often a token can be guessed.
#include "web/access/metrics_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"

namespace tony::web {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

constexpr char kToken[] = "0123456789abcdef0123456789abcdef";

class MetricsTokenTest : public ::testing::Test {
 protected:
  /// The response to a request with this header; 200 for one that is let in.
  HttpResponse Ask(const std::string& authorization, const std::string& address = "127.0.0.1") {
    HttpRequest request;
    request.authorization = authorization;
    request.peer_address = address;
    return token_.Check(request).value_or(HttpResponse{});
  }

  FakeClock clock_;
  MetricsToken token_{clock_, kToken};
};

TEST_F(MetricsTokenTest, LetsInWhoHasIt) {
  EXPECT_EQ(Ask(absl::StrCat("Bearer ", kToken)).status, 200);
  EXPECT_EQ(Ask(absl::StrCat("bearer  ", kToken, " ")).status, 200);
}

TEST_F(MetricsTokenTest, RefusesOthersWithAProblem) {
  for (const std::string& wrong :
       {std::string(), std::string(kToken), absl::StrCat("Basic ", kToken), std::string("Bearer"),
        std::string("Bearer "), absl::StrCat("Bearer ", kToken, "0"),
        absl::StrCat("Bearer ", std::string(kToken).substr(1)), std::string("Bearer x")}) {
    const HttpResponse refused = Ask(wrong);
    EXPECT_EQ(refused.status, 401) << wrong;
    EXPECT_EQ(refused.content_type, "application/problem+json");
    EXPECT_EQ(nlohmann::json::parse(refused.body)["status"], 401);
    EXPECT_THAT(refused.body, Not(HasSubstr(kToken)));
    EXPECT_THAT(refused.headers, Contains(Pair("WWW-Authenticate", HasSubstr("Bearer"))));
  }
}

TEST_F(MetricsTokenTest, GuessesAreBoundedForEachAddress) {
  for (int i = 0; i < AttemptLimit::kMostOfName; ++i) {
    EXPECT_EQ(Ask("Bearer x", "10.0.0.1").status, 401);
    EXPECT_EQ(Ask("", "10.0.0.1").status, 401) << "is no guess";
  }
  const HttpResponse refused = Ask("Bearer x", "10.0.0.1");
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.headers, Contains(Pair("Retry-After", "600")));
  EXPECT_EQ(Ask("Bearer x", "10.0.0.2").status, 401);
  EXPECT_EQ(Ask(absl::StrCat("Bearer ", kToken), "10.0.0.1").status, 200) << "it is no guess";
  clock_.Advance(AttemptLimit::kWindow);
  EXPECT_EQ(Ask("Bearer x", "10.0.0.1").status, 401);
}

TEST_F(MetricsTokenTest, ReadingAllDayUsesUpNothing) {
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(Ask(absl::StrCat("Bearer ", kToken)).status, 200) << i;
  }
}

}  // namespace
}  // namespace tony::web
