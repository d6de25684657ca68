// Where names and links lead.
#include "os/archives/archive_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace tony::os {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SplitEntryNameTest, LeavesOutWhatMeansNothing) {
  EXPECT_THAT(SplitEntryName("./a//b/./c/").value(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(SplitEntryName("...").value(), ElementsAre("..."));
  EXPECT_THAT(SplitEntryName("./").value(), IsEmpty());
  EXPECT_EQ(JoinParts({"a", "b"}), "a/b");
}

TEST(SplitEntryNameTest, Refuses) {
  for (const std::string& name :
       {std::string("/"), std::string("/etc/passwd"), std::string("//x"), std::string(".."),
        std::string("a/../b"), std::string("a/.."), std::string("../a"), std::string(5000, 'n')}) {
    EXPECT_EQ(SplitEntryName(name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

bool Inside(const PathParts& link, const std::string& target,
            const std::map<std::string, std::string>& links = {}) {
  return TargetStaysInside(link, target,
                           [&](const std::string& path) -> std::optional<std::string> {
                             const auto found = links.find(path);
                             if (found == links.end()) return std::nullopt;
                             return found->second;
                           });
}

TEST(TargetStaysInsideTest, WithoutOtherLinks) {
  EXPECT_TRUE(Inside({"l"}, "a"));
  EXPECT_TRUE(Inside({"l"}, "."));
  EXPECT_TRUE(Inside({"l"}, "a/../b"));
  EXPECT_TRUE(Inside({"d", "l"}, ".."));
  EXPECT_TRUE(Inside({"d", "l"}, "../d/x"));
  EXPECT_FALSE(Inside({"l"}, ".."));
  EXPECT_FALSE(Inside({"d", "l"}, "../.."));
  EXPECT_FALSE(Inside({"d", "l"}, "x/../../../d"));
  EXPECT_FALSE(Inside({"l"}, "/etc"));
}

TEST(TargetStaysInsideTest, DotDotAfterALink) {
  // By its text d/e/up/../.. is d; but d/e/up is the root.
  const std::map<std::string, std::string> links = {{"d/e/up", "../.."}};
  EXPECT_FALSE(Inside({"l"}, "d/e/up/..", links));
  EXPECT_TRUE(Inside({"l"}, "d/e/up/d", links));
  // By its text f/../.. leaves; but f is d/e/g.
  EXPECT_TRUE(Inside({"l"}, "f/../..", {{"f", "d/e/g"}}));
}

TEST(TargetStaysInsideTest, ThroughChains) {
  EXPECT_FALSE(Inside({"l"}, "a/x", {{"a", "b"}, {"b", "/etc"}}));
  EXPECT_FALSE(Inside({"l"}, "a/x", {{"a", "a"}})) << "endless";
  EXPECT_TRUE(Inside({"l"}, "a", {{"a", "/etc"}})) << "a is asked about itself";
}

}  // namespace
}  // namespace tony::os
