// The pauses between tries, and what is not tried again.
#include "core/alerts/alert_retry.h"

#include <gtest/gtest.h>

namespace tony::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(AlertRetry, PausesDoubleAndEnd) {
  const AlertAnswer down{503, Duration(0), ""};
  for (int tries = 1; tries < kMostAlertTries; ++tries) {
    EXPECT_EQ(NextAlertTry(tries, down, 0.5), seconds(1 << (tries - 1)));
  }
  EXPECT_EQ(NextAlertTry(1, down, 0), milliseconds(750));
  EXPECT_EQ(NextAlertTry(1, down, 1), milliseconds(1250));
  EXPECT_EQ(NextAlertTry(kMostAlertTries, down, 0.5), std::nullopt);
}

TEST(AlertRetry, WhatIsRefusedForGoodIsGivenUp) {
  for (const int code : {301, 307, 400, 401, 403, 404, 410}) {
    EXPECT_EQ(NextAlertTry(1, {code, Duration(0), ""}, 0.5), std::nullopt) << code;
  }
  for (const int code : {0, 408, 429, 500, 502}) {
    EXPECT_TRUE(NextAlertTry(1, {code, Duration(0), ""}, 0.5)) << code;
  }
  EXPECT_EQ(NextAlertTry(1, {0, Duration(0), "its certificate is not trusted", true}, 0.5),
            std::nullopt);
  EXPECT_EQ(NextAlertTry(1, {204, Duration(0), ""}, 0.5), std::nullopt);
}

TEST(AlertRetry, RetryAfterIsObeyedWithinBounds) {
  EXPECT_EQ(NextAlertTry(1, {429, seconds(7), ""}, 0.5), seconds(7));
  EXPECT_EQ(NextAlertTry(4, {429, seconds(1), ""}, 0.5), seconds(8));
  EXPECT_EQ(NextAlertTry(1, {429, std::chrono::hours(100'000), ""}, 0.5), kLongestAlertPause);
}

TEST(AlertRetry, SentencesSayWhatTheReceiverDid) {
  EXPECT_EQ((AlertAnswer{404, Duration(0), ""}).Sentence(), "it answers 404");
  EXPECT_EQ((AlertAnswer{302, Duration(0), ""}).Sentence(),
            "it answers 302, and redirections are not followed");
  EXPECT_EQ((AlertAnswer{0, Duration(0), "Timeout was reached"}).Sentence(), "Timeout was reached");
}

}  // namespace
}  // namespace tony::core
