// A claim's text.
#include "backend/local/claim_json.h"

#include "gtest/gtest.h"

namespace tony::backend {
namespace {

core::Claim SomeClaim() {
  return {.job_id = "job-1",
          .pid = 4242,
          .ticket = 7,
          .held = {{.resources = {.memory_mb = 2048, .vcores = 2, .gpus = 2}, .gpus = {1, 3}}},
          .wanted = {{.type = "ps", .count = 3, .resources = {.memory_mb = 10, .vcores = 1}}}};
}

TEST(ClaimJsonTest, ReadsWhatItWrote) {
  EXPECT_EQ(ClaimFromJson(ClaimToJson(SomeClaim())).value(), SomeClaim());
  EXPECT_EQ(ClaimFromJson(ClaimToJson(core::Claim{})).value(), core::Claim{});
}

TEST(ClaimJsonTest, AnyTruncationIsRefused) {
  const std::string text = ClaimToJson(SomeClaim());
  for (size_t size = 0; size + 1 < text.size(); ++size) {  // but for the newline
    EXPECT_EQ(ClaimFromJson(text.substr(0, size)).status().code(),
              absl::StatusCode::kInvalidArgument)
        << size;
  }
}

TEST(ClaimJsonTest, WrongShapesAreRefused) {
  for (const std::string text :
       {"[]", "null", "{}", R"({"version": 2})", R"({"version": "1"})", "\xff\xfe",
        R"({"version":1,"job_id":7,"pid":1,"ticket":1,"held":[],"wanted":[]})",
        R"({"version":1,"job_id":"a","pid":1,"ticket":1,"held":[{}],"wanted":[]})",
        R"({"version":1,"job_id":"a","pid":1,"ticket":1,"held":3,"wanted":[]})"}) {
    EXPECT_EQ(ClaimFromJson(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(ClaimJsonTest, NamesThatAreNoUtf8DoNotThrow) {
  core::Claim claim = SomeClaim();
  claim.wanted[0].type = "\xff";
  EXPECT_TRUE(ClaimFromJson(ClaimToJson(claim)).ok());
}

}  // namespace
}  // namespace tony::backend
