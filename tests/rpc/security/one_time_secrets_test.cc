// Wrong, reused, late and unknown secrets.
#include "rpc/security/one_time_secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace tony::rpc {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

const TimePoint kNow{seconds(1000)};
const TimePoint kEnd = kNow + seconds(60);

TEST(OneTimeSecretsTest, ASecretWorksOnce) {
  OneTimeSecrets secrets;
  const std::string secret = secrets.Make("c1", kEnd).value();
  EXPECT_THAT(secret, MatchesRegex("[0-9a-f]{64}"));
  EXPECT_TRUE(secrets.Use("c1", secret, kNow).ok());
  const absl::Status again = secrets.Use("c1", secret, kNow);
  EXPECT_TRUE(absl::IsAlreadyExists(again)) << again;
  EXPECT_THAT(std::string(again.message()), HasSubstr("c1"));
}

TEST(OneTimeSecretsTest, AWrongOneUsesNothingUp) {
  OneTimeSecrets secrets;
  const std::string secret = secrets.Make("c1", kEnd).value();
  std::string wrong = secret;
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  for (const std::string& guess : {wrong, secret.substr(1), secret + "0", std::string()}) {
    const absl::Status refused = secrets.Use("c1", guess, kNow);
    EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
    EXPECT_EQ(std::string(refused.message()).find(secret), std::string::npos);
  }
  EXPECT_TRUE(secrets.Use("c1", secret, kNow).ok());
}

TEST(OneTimeSecretsTest, ASecretIsItsOwnersOnly) {
  OneTimeSecrets secrets;
  const std::string one = secrets.Make("c1", kEnd).value();
  const std::string two = secrets.Make("c2", kEnd).value();
  EXPECT_NE(one, two);
  EXPECT_TRUE(absl::IsPermissionDenied(secrets.Use("c2", one, kNow)));
  EXPECT_TRUE(absl::IsNotFound(secrets.Use("c3", one, kNow)));
  EXPECT_TRUE(secrets.Use("c2", two, kNow).ok());
}

TEST(OneTimeSecretsTest, ALateOneIsRefusedForGood) {
  OneTimeSecrets secrets;
  const std::string secret = secrets.Make("c1", kEnd).value();
  EXPECT_TRUE(absl::IsDeadlineExceeded(secrets.Use("c1", secret, kEnd + seconds(1))));
  EXPECT_TRUE(absl::IsAlreadyExists(secrets.Use("c1", secret, kNow)));
}

TEST(OneTimeSecretsTest, TheLastMomentIsNotLate) {
  OneTimeSecrets secrets;
  const std::string secret = secrets.Make("c1", kEnd).value();
  EXPECT_TRUE(secrets.Use("c1", secret, kEnd).ok());
}

TEST(OneTimeSecretsTest, AForgottenOwnerHasNone) {
  OneTimeSecrets secrets;
  const std::string secret = secrets.Make("c1", kEnd).value();
  secrets.Forget("c1");
  secrets.Forget("never heard of");
  EXPECT_TRUE(absl::IsNotFound(secrets.Use("c1", secret, kNow)));
}

TEST(OneTimeSecretsTest, ANewSecretReplacesTheOld) {
  OneTimeSecrets secrets;
  const std::string old = secrets.Make("c1", kEnd).value();
  const std::string now = secrets.Make("c1", kEnd).value();
  EXPECT_TRUE(absl::IsPermissionDenied(secrets.Use("c1", old, kNow)));
  EXPECT_TRUE(secrets.Use("c1", now, kNow).ok());
}

}  // namespace
}  // namespace tony::rpc
