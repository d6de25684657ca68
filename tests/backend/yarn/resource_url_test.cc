// URLs of files for nodes, as users write them.
#include "backend/yarn/resource_url.h"

#include <gtest/gtest.h>

namespace tony::backend {
namespace {

const hadoop::NameService kHdfs = {
    .authority = "nn:8020", .rpc = {{"nn", 8020}}, .web = {{"nn", 9870}}};
const hadoop::NameService kPair = {.authority = "pair",
                                   .rpc = {{"one", 8020}, {"two", 8020}},
                                   .web = {{"one", 50070}, {"two", 50070}},
                                   .highly_available = true};

bool IsOf(const std::string& url, const hadoop::NameService& hdfs) {
  const absl::StatusOr<ResourceUrl> parsed = ParseResourceUrl(url);
  return parsed.ok() && parsed->IsOf(hdfs);
}

TEST(ResourceUrlTest, HasSchemeAuthorityAndPath) {
  const auto url = ParseResourceUrl("HDFS://nn:8020/a dir/b%20#c");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->scheme, "hdfs");
  EXPECT_EQ(url->authority, "nn:8020");
  EXPECT_EQ(url->path, "/a dir/b%20#c");
}

TEST(ResourceUrlTest, IsOfTheHdfsThatItNames) {
  for (const char* const url :
       {"hdfs:///a", "hdfs://nn/a", "hdfs://nn:8020/a", "webhdfs://nn/a", "webhdfs://nn:9870/a"}) {
    EXPECT_TRUE(IsOf(url, kHdfs)) << url;
  }
  for (const char* const url : {"hdfs://other/a", "hdfs://nn:9000/a", "webhdfs:///a",
                                "webhdfs://nn:8020/a", "http://nn:9870/a"}) {
    EXPECT_FALSE(IsOf(url, kHdfs)) << url;
  }
  EXPECT_TRUE(IsOf("hdfs://pair/a", kPair));
  EXPECT_TRUE(IsOf("hdfs://two/a", kPair));
  EXPECT_TRUE(IsOf("webhdfs://pair/a", kPair));
  EXPECT_FALSE(IsOf("hdfs://nn/a", kPair));
}

TEST(ResourceUrlTest, OthersAreForTheNodeToFind) {
  const auto resource = ParseResourceUrl("https://h/a/b.zip")->AsItIs();
  ASSERT_TRUE(resource.ok());
  EXPECT_EQ(resource->scheme, "https");
  EXPECT_EQ(resource->host, "h");
  EXPECT_EQ(resource->port, 443);
  EXPECT_EQ(resource->path, "/a/b.zip");
  EXPECT_EQ(resource->bytes, -1);
  EXPECT_EQ(resource->modified_millis, 0);
  EXPECT_EQ(resource->visibility, LocalResource::Visibility::kApplication);
  EXPECT_FALSE(ParseResourceUrl("http:///a")->AsItIs().ok());
}

TEST(ResourceUrlTest, WhatNoNodeCanFetchIsRefused) {
  for (const char* const url : {"", "a/b", "hdfs:", "hdfs://nn", "hdfs://nn/", "hdfs:a",
                                "http://h/a?op=OPEN", "http://h/a%20b"}) {
    EXPECT_EQ(ParseResourceUrl(url).status().code(), absl::StatusCode::kInvalidArgument) << url;
  }
}

}  // namespace
}  // namespace tony::backend
