// Resource entries and paths.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobfile/values/paths.h"
#include "jobfile/values/resource_grammar.h"

namespace tony::jobfile {
namespace {

TEST(ResourceTest, ReadsAllFourForms) {
  EXPECT_EQ(*ParseResource("data/a.txt"), (core::ResourceEntry{"data/a.txt", "a.txt", false}));
  EXPECT_EQ(*ParseResource("a.txt::b.txt"), (core::ResourceEntry{"a.txt", "b.txt", false}));
  EXPECT_EQ(*ParseResource("a.zip#archive"), (core::ResourceEntry{"a.zip", "a.zip", true}));
  EXPECT_EQ(*ParseResource("a.zip::b#ARCHIVE"), (core::ResourceEntry{"a.zip", "b", true}));
}

TEST(ResourceTest, NamesAFolderAfterItsLastPart) {
  EXPECT_EQ(ParseResource("/data/set/")->local_name, "set");
  EXPECT_EQ(ParseResource("hdfs://host:9000/data/set")->local_name, "set");
}

TEST(ResourceTest, RefusesWhatIsNoFileName) {
  for (const char* const text :
       {"a::b::c", "::b", "#archive", "a::", "a::..", "a::b/c", "/", ".."}) {
    EXPECT_EQ(ParseResource(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(ResourceTest, FormatIsTheReverseOfParse) {
  for (const core::ResourceEntry& entry :
       {core::ResourceEntry{"/a b/c", "d", true}, core::ResourceEntry{"/x#y", "x#y", false},
        core::ResourceEntry{"/data/end:", "end:", false},
        core::ResourceEntry{"/data/:begin", ":begin", true}}) {
    EXPECT_EQ(*ParseResource(FormatResource(entry)), entry);
  }
}

TEST(PathTest, ResolvesAgainstFolderAndHome) {
  EXPECT_EQ(ResolvePath("src", "/jobs", "/home/u"), "/jobs/src");
  EXPECT_EQ(ResolvePath("./src/", "/jobs", "/home/u"), "/jobs/src");
  EXPECT_EQ(ResolvePath("/src", "/jobs", "/home/u"), "/src");
  EXPECT_EQ(ResolvePath("~", "/jobs", "/home/u"), "/home/u");
  EXPECT_EQ(ResolvePath("~/src", "/jobs", "/home/u"), "/home/u/src");
  EXPECT_EQ(ResolvePath("~x", "/jobs", "/home/u"), "/jobs/~x");
  EXPECT_EQ(ResolvePath("~/src", "/jobs", ""), "~/src");
  EXPECT_EQ(ResolvePath("", "/jobs", "/home/u"), "");
}

TEST(PathTest, LeavesDoubleDotsToTheKernel) {
  EXPECT_EQ(ResolvePath("link/../src", "/jobs", ""), "/jobs/link/../src");
}

TEST(PathTest, TellsUrisFromPaths) {
  EXPECT_EQ(UriScheme("HDFS://host/a"), "hdfs");
  EXPECT_EQ(UriScheme("/a"), "");
  EXPECT_EQ(UriScheme("a://"), "a");
  EXPECT_EQ(UriScheme("://x"), "");
  EXPECT_EQ(UriScheme("file:///a"), "");
  EXPECT_EQ(ResolvePath("s3://bucket/a", "/jobs", ""), "s3://bucket/a");
  EXPECT_EQ(ResolvePath("file:///a", "/jobs", ""), "/a");
  EXPECT_EQ(ResolvePath("file:/a", "/jobs", ""), "/a");
}

}  // namespace
}  // namespace tony::jobfile
