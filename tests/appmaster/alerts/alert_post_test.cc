// The signature of an alert.
#include "appmaster/alerts/alert_post.h"

#include <gtest/gtest.h>

namespace tony::appmaster {
namespace {

// Made by: printf '1700000000.{"event":"end"}' | openssl dgst -sha256 -hmac 0123456789abcdef
TEST(AlertPost, SignatureIsThatOfOpenssl) {
  const auto signature = AlertSignature("0123456789abcdef", "1700000000", R"({"event":"end"})");
  ASSERT_TRUE(signature.ok());
  EXPECT_EQ(*signature, "sha256=c8607be20f09cd80484bdbbe279c4b6b163c0baf2797062cbde080c644ee3cb3");
}

}  // namespace
}  // namespace tony::appmaster
