// The live page's files, as browsers get them.
#include "web/page_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "web/http/gzip.h"

namespace tony::web {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::Pair;

TEST(PageFiles, AreKeptForEverUnderNamesOfTheirContent) {
  for (const PageFile& file : {PageScript(), PortalScript(), PageStyle()}) {
    EXPECT_THAT(std::string(file.name), MatchesRegex("(page|portal)-[0-9a-f]{16}\\.(js|css)"));
    const auto response = FindPageFile(file.name, true);
    ASSERT_TRUE(response);
    EXPECT_EQ(response->content_type, file.content_type);
    EXPECT_THAT(response->headers, Contains(Pair("Cache-Control", HasSubstr("immutable"))));
    EXPECT_THAT(RenderResponse(*response, true), Not(HasSubstr("no-store")));
  }
  EXPECT_FALSE(FindPageFile("page-0000000000000000.js", true));
}

TEST(PageFiles, AreUnpackedForClientsWithoutGzip) {
  const auto packed = FindPageFile(PageScript().name, true);
  const auto plain = FindPageFile(PageScript().name, false);
  EXPECT_THAT(packed->headers, Contains(Pair("Content-Encoding", "gzip")));
  EXPECT_THAT(plain->headers, Not(Contains(Pair("Content-Encoding", "gzip"))));
  EXPECT_EQ(Gunzip(packed->body), plain->body);
  EXPECT_GT(plain->body.size(), packed->body.size());
}

TEST(PageFiles, StaySmall) {
  EXPECT_LE(PageScript().packed.size() + PageStyle().packed.size(), size_t{200} * 1024);
  EXPECT_LE(PortalScript().packed.size(), size_t{30} * 1024);
}

// The policy forbids what would need it: code made of text, and files from elsewhere.
TEST(PageFiles, NeedNothingThatThePolicyForbids) {
  for (const PageFile& file : {PageScript(), PortalScript()}) {
    const std::string script = FindPageFile(file.name, false)->body;
    EXPECT_THAT(script, Not(HasSubstr("eval(")));
    EXPECT_THAT(script, Not(HasSubstr("new Function")));
  }
  const std::string style = FindPageFile(PageStyle().name, false)->body;
  EXPECT_THAT(style, Not(HasSubstr("url(")));
  EXPECT_THAT(style, Not(HasSubstr("@import")));
}

}  // namespace
}  // namespace tony::web
