// DIGEST-MD5 against the examples of RFC 2831, and each way in which a server can be wrong.
#include "hadoop/auth/digest_md5.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/hadoop/auth/digest_server.h"

namespace tony::hadoop {
namespace {

using ::testing::HasSubstr;

// The example of RFC 2831, section 4.
constexpr char kImapChallenge[] =
    "realm=\"elwood.innosoft.com\",nonce=\"OA6MG9tEQGm2hh\",qop=\"auth\",algorithm=md5-sess,"
    "charset=utf-8";
DigestIdentity Chris(const std::string& service, const std::string& cnonce) {
  return {.user = "chris", .password = "secret", .service = service, .cnonce = cnonce};
}

TEST(DigestMd5, AnswersAsRfc2831DoesForImap) {
  DigestMd5 digest(Chris("imap/elwood.innosoft.com", "OA6MHXh6VqTrRk"));
  const auto answer = digest.Start(kImapChallenge);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(*answer, HasSubstr("username=\"chris\",realm=\"elwood.innosoft.com\""));
  EXPECT_THAT(*answer, HasSubstr("response=d388dad90d4bbd760a152321f2143af7,qop=auth"));
  EXPECT_TRUE(digest.Finish("rspauth=ea40f60335c427b5527b84dbabcdfffd").ok());
}

TEST(DigestMd5, AnswersAsRfc2831DoesForAcap) {
  DigestMd5 digest(Chris("acap/elwood.innosoft.com", "OA9BSuZWMSpW8m"));
  const auto answer = digest.Start(
      "realm=\"elwood.innosoft.com\",nonce=\"OA9BSXrbuRhWay\",qop=\"auth\",algorithm=md5-sess,"
      "charset=utf-8");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(*answer, HasSubstr("response=6084c6db3fede7352c551284490fd0fc"));
  EXPECT_TRUE(digest.Finish("rspauth=2f0b3d7c3c2e486600ef710726aa2eae").ok());
}

TEST(DigestMd5, RefusesAServerThatDoesNotKnowThePassword) {
  for (const char* const proof :
       {"rspauth=d388dad90d4bbd760a152321f2143af7", "", "rspauth=", "other=1", "rspauth"}) {
    DigestMd5 digest(Chris("imap/elwood.innosoft.com", "OA6MHXh6VqTrRk"));
    ASSERT_TRUE(digest.Start(kImapChallenge).ok());
    EXPECT_FALSE(digest.Finish(proof).ok()) << proof;
  }
  DigestMd5 not_started(Chris("imap/elwood.innosoft.com", "OA6MHXh6VqTrRk"));
  EXPECT_TRUE(absl::IsUnauthenticated(not_started.Finish("rspauth=")));
}

TEST(DigestMd5, TakesTheStrongestThatIsOffered) {
  const std::tuple<const char*, const char*, Protection, const char*> cases[] = {
      {"auth,auth-int,auth-conf", "3des,rc4,des,rc4-56", Protection::kPrivacy,
       "qop=auth-conf,cipher=\"3des\""},
      {"auth,auth-conf", "rc4,rc4-40", Protection::kPrivacy, "qop=auth-conf,cipher=\"rc4\""},
      {"auth, auth-int", "", Protection::kIntegrity, "qop=auth-int"},
      {"auth-int,auth-conf,auth", "des,rc4-40", Protection::kIntegrity, "qop=auth-int"},
      {"auth", "3des", Protection::kAuthentication, "qop=auth"}};
  for (const auto& [protections, ciphers, expected, words] : cases) {
    DigestMd5 digest(Chris("/default", "c0"));
    const auto answer = digest.Start(DigestOffer(protections, ciphers));
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(digest.protection(), expected) << protections;
    EXPECT_THAT(*answer, HasSubstr(words));
  }
  DigestMd5 digest(Chris("/default", "c0"));
  EXPECT_TRUE(absl::IsUnimplemented(digest.Start(DigestOffer("auth-conf", "des")).status()));
}

TEST(DigestMd5, TakesNoLessThanIsRequired) {
  const RequiredProtection integrity{Protection::kIntegrity,
                                     "hadoop.rpc.protection = integrity (F:1)"};
  const RequiredProtection privacy{Protection::kPrivacy, "hadoop.rpc.protection = privacy (F:1)"};
  const std::tuple<const char*, const char*, RequiredProtection, const char*> refused[] = {
      {"auth", "", integrity,
       "offers only auth, less than hadoop.rpc.protection = integrity (F:1)"},
      {"auth,auth-int", "3des", privacy, "offers only auth,auth-int, less than hadoop.rpc"},
      {"auth-int,auth-conf", "des,rc4-40", privacy,
       "offers only auth-int,auth-conf with des,rc4-40"}};
  for (const auto& [protections, ciphers, required, words] : refused) {
    DigestMd5 digest(Chris("/default", "c0"), required);
    const absl::Status status = digest.Start(DigestOffer(protections, ciphers)).status();
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }
  for (const RequiredProtection& required : {integrity, privacy}) {
    DigestMd5 digest(Chris("/default", "c0"), required);
    EXPECT_TRUE(digest.Start(DigestOffer("auth,auth-int,auth-conf", "3des")).ok());
    EXPECT_EQ(digest.protection(), Protection::kPrivacy);
  }
}

TEST(DigestMd5, RefusesMalformedChallenges) {
  for (const char* const challenge :
       {"", "nonce", R"(nonce="x)", R"(nonce="x\)", R"(realm="r",algorithm=md5-sess)",
        R"(nonce="a",nonce="b",algorithm=md5-sess)", R"(nonce="a"b,algorithm=md5-sess)",
        R"(nonce="a",algorithm=md5)", R"(nonce="a")", "nonce=a,algorithm=md5-sess,maxbuf=1",
        "nonce=a,algorithm=md5-sess,maxbuf=99999999999", "=x,nonce=a"}) {
    DigestMd5 digest(Chris("/default", "c0"));
    EXPECT_TRUE(absl::IsInvalidArgument(digest.Start(challenge).status())) << challenge;
  }
}

TEST(DigestMd5, QuotesWhatItSaysBack) {
  DigestMd5 digest(Chris("/default", "c0"));
  const auto answer = digest.Start(R"(realm="a\"b\\",nonce=n,algorithm=md5-sess)");
  ASSERT_TRUE(answer.ok());
  EXPECT_THAT(*answer, HasSubstr(R"(realm="a\"b\\")"));
}

constexpr char kSession[] = "0123456789abcdef";

class LayerTest : public testing::TestWithParam<const char*> {};

TEST_P(LayerTest, CarriesMessagesBothWays) {
  const auto client = DigestLayer::Create(kSession, GetParam());
  ASSERT_TRUE(client.ok());
  DigestServerLayer server(kSession, GetParam());
  for (size_t size = 0; size < 40; ++size) {
    const std::string message(size, 'm');
    EXPECT_EQ(server.Unwrap(*(*client)->Wrap(message)), message);
    EXPECT_EQ(*(*client)->Unwrap(server.Wrap(message)), message);
  }
}

TEST_P(LayerTest, RefusesEveryChangedBit) {
  for (size_t bit = 0;; ++bit) {
    const auto client = DigestLayer::Create(kSession, GetParam());
    std::string wrapped = DigestServerLayer(kSession, GetParam()).Wrap("a message");
    if (bit / 8 == wrapped.size()) break;
    wrapped[bit / 8] = static_cast<char>(wrapped[bit / 8] ^ 1 << bit % 8);
    EXPECT_TRUE(absl::IsDataLoss((*client)->Unwrap(wrapped).status())) << bit;
  }
}

TEST_P(LayerTest, RefusesReplayAndTruncation) {
  const std::string wrapped = DigestServerLayer(kSession, GetParam()).Wrap("a message");
  for (size_t size = 0; size < wrapped.size(); ++size) {
    const auto client = DigestLayer::Create(kSession, GetParam());
    EXPECT_TRUE(absl::IsDataLoss((*client)->Unwrap(wrapped.substr(0, size)).status())) << size;
  }
  const auto client = DigestLayer::Create(kSession, GetParam());
  EXPECT_TRUE((*client)->Unwrap(wrapped).ok());
  EXPECT_TRUE(absl::IsDataLoss((*client)->Unwrap(wrapped).status()));
}

INSTANTIATE_TEST_SUITE_P(Ciphers, LayerTest, testing::Values("", "rc4", "3des"),
                         [](const auto& info) {
                           return *info.param == '\0' ? "integrity" : std::string("c") + info.param;
                         });

}  // namespace
}  // namespace tony::hadoop
