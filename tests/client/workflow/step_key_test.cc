#include "client/workflow/step_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"

namespace tony::client {
namespace {

TEST(StepKeyTest, PartsKeepTheirBorders) {
  EXPECT_EQ(JoinStepKey({"airflow", "dag", "run 1"}), "airflow|dag|run 1");
  EXPECT_EQ(JoinStepKey({"a|b", "c"}), "a%7Cb|c");
  EXPECT_EQ(JoinStepKey({"a", "b|c"}), "a|b%7Cc");
  EXPECT_EQ(JoinStepKey({"a%7Cb"}), "a%257Cb");
}

TEST(StepKeyTest, KeysThatNobodyCanReadAreRefused) {
  EXPECT_TRUE(CheckStepKey("größe|1").ok());
  EXPECT_TRUE(CheckStepKey(std::string(1000, 'k')).ok());
  for (const std::string& key :
       {std::string(), std::string(1001, 'k'), std::string("a\nb"), std::string("\xff")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckStepKey(key))) << key;
  }
}

TEST(StepKeyTest, TheDigestIsTheBeginningOfSha256) {
  // printf abc | sha256sum
  EXPECT_EQ(StepDigest("abc").value(), "ba7816bf8f01cfea414140de5dae2223");
}

}  // namespace
}  // namespace tony::client
