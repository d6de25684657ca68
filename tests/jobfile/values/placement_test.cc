// The notation of placement constraints: what it means, and what is not in it.
#include "jobfile/values/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::jobfile {
namespace {

using testing::ElementsAre;
using Kind = PlacementConstraint::Kind;
using Tag = PlacementConstraint::Tag;

PlacementConstraint Parsed(const std::string& text) {
  const auto constraint = ParsePlacement(text);
  EXPECT_TRUE(constraint.ok()) << constraint.status();
  return constraint.value_or(PlacementConstraint());
}

std::string Complaint(const std::string& text) {
  const auto constraint = ParsePlacement(text);
  EXPECT_EQ(constraint.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(constraint.status().message());
}

TEST(PlacementTest, TagsAreBesideOrNot) {
  const PlacementConstraint apart = Parsed("notin,node,worker");
  EXPECT_EQ(apart.kind, Kind::kTags);
  EXPECT_EQ(apart.scope, "node");
  EXPECT_THAT(apart.tags, ElementsAre(Tag{"self", "worker"}));
  EXPECT_EQ(std::pair(apart.minimum, apart.maximum), std::pair(0, 0));

  const PlacementConstraint beside = Parsed("in,rack,ps,all/cache");
  EXPECT_EQ(beside.scope, "rack");
  EXPECT_THAT(beside.tags, ElementsAre(Tag{"self", "ps"}, Tag{"all", "cache"}));
  EXPECT_EQ(std::pair(beside.minimum, beside.maximum),
            std::pair(1, PlacementConstraint::kAnyNumber));

  const PlacementConstraint some = Parsed("cardinality,node,a,b,1,3");
  EXPECT_THAT(some.tags, ElementsAre(Tag{"self", "a"}, Tag{"self", "b"}));
  EXPECT_EQ(std::pair(some.minimum, some.maximum), std::pair(1, 3));
}

TEST(PlacementTest, AttributesAreEqualOrNot) {
  const PlacementConstraint java = Parsed("java=1.8,1.9");
  EXPECT_EQ(java.kind, Kind::kAttribute);
  EXPECT_EQ(java.attribute, "java");
  EXPECT_THAT(java.values, ElementsAre("1.8", "1.9"));
  EXPECT_TRUE(java.equal);
  const PlacementConstraint not_spot = Parsed("rm.yarn.io/spot != true");
  EXPECT_EQ(not_spot.attribute, "rm.yarn.io/spot");
  EXPECT_EQ(Parsed("rm.yarn.io/spot ! = true"), not_spot);
  EXPECT_THAT(not_spot.values, ElementsAre("true"));
  EXPECT_FALSE(not_spot.equal);
}

TEST(PlacementTest, ConstraintsAreJoined) {
  const PlacementConstraint both = Parsed("and(notin,node,a:or(in,rack,b:java=8))");
  EXPECT_EQ(both.kind, Kind::kAnd);
  ASSERT_EQ(both.parts.size(), 2u);
  EXPECT_EQ(both.parts[0], Parsed("notin,node,a"));
  EXPECT_EQ(both.parts[1].kind, Kind::kOr);
  EXPECT_EQ(both.parts[1].parts, (std::vector{Parsed("in,rack,b"), Parsed("java=8")}));
  EXPECT_EQ(Parsed("OR(in,node,a)").parts.size(), 1u);
}

TEST(PlacementTest, IsWrittenAsItIsRead) {
  for (const std::string text :
       {"notin,node,worker", "in,rack,ps,all/cache", "cardinality,node,a,b,1,3",
        "cardinality,node,a,0,4", "java=1.8,1.9", "rm.yarn.io/spot!=true",
        "and(notin,node,a:or(in,rack,app-id/application_1_0001/b:java=8))",
        "in,node,not-self/x,app-tag/y/z"}) {
    EXPECT_EQ(FormatPlacement(Parsed(text)), text);
  }
  EXPECT_EQ(FormatPlacement(Parsed(" NotIn , NODE , a ")), "notin,node,a");
  EXPECT_EQ(FormatPlacement(Parsed("And ( in,node,a : cardinality,node,b,0,0 )")),
            "and(in,node,a:notin,node,b)");
}

TEST(PlacementTest, WhatIsNotInItIsNamed) {
  EXPECT_EQ(Complaint(""), "'' is no constraint");
  EXPECT_EQ(Complaint("worker"),
            "'worker' begins with none of in, notin, cardinality, and(, or(, and has no =");
  EXPECT_EQ(Complaint("notin"), "'notin' needs a scope and a tag");
  EXPECT_EQ(Complaint("notin,node"), "'notin,node' needs a scope and a tag");
  EXPECT_EQ(Complaint("notin,host,a"), "'host' is neither node nor rack");
  EXPECT_EQ(Complaint("in,node,a,"), "'' names no tag");
  EXPECT_EQ(Complaint("in,node,mine/a"),
            "'mine/a' is a tag of nobody: before the slash stands self, not-self, all, app-id/ID "
            "or app-tag/TAG");
  EXPECT_EQ(Complaint("in,node,app-id/a").substr(0, 27), "'app-id/a' is a tag of nobo");
  EXPECT_EQ(Complaint("cardinality,node,a,1"),
            "'cardinality,node,a,1' needs a scope, a tag, a smallest and a largest number");
  EXPECT_EQ(Complaint("cardinality,node,a,1,x"), "'x' is no number of containers");
  EXPECT_EQ(Complaint("cardinality,node,a,-1,1"), "'-1' is no number of containers");
  EXPECT_EQ(Complaint("cardinality,node,a,2,1"),
            "'cardinality,node,a,2,1' asks for more than the largest number");
  EXPECT_EQ(Complaint("and()"), "'' is no constraint");
  EXPECT_EQ(Complaint("and"), "'and' is not of the form and(A:B)");
  EXPECT_EQ(Complaint("and,node,a"), "'and,node,a' is not of the form and(A:B)");
  EXPECT_EQ(Complaint("OR,rack,a"), "'OR,rack,a' is not of the form or(A:B)");
  EXPECT_EQ(Complaint("and(in,node,a"), "'and(in,node,a' is not of the form and(A:B)");
  EXPECT_EQ(Complaint("and(in,node,a):or(in,node,b)"),
            "'in,node,a):or(in,node,b' has a bracket without a partner");
  EXPECT_EQ(Complaint("in,node,a:in,node,b"),
            "'in,node,a:in,node,b' is several constraints; join them by and(A:B)");
  EXPECT_EQ(Complaint("a=b,c=d"), "'a=b,c=d' has two attributes; join them by and(A:B)");
  EXPECT_EQ(Complaint("=b"), "'=b' names no attribute");
  EXPECT_EQ(Complaint("a="), "'a=' has an empty value");
  for (const std::string text : {"zk=3,notin,node,zk", "zk(3),notin,node,zk"}) {
    EXPECT_EQ(Complaint(text), "'" + text +
                                   "' begins with a tag and a number, which belong to "
                                   "allocation-tags and instances");
  }
}

TEST(PlacementTest, IsNotNestedWithoutEnd) {
  std::string text = "in,node,a";
  for (int i = 0; i < 20; ++i) text = "and(" + text + ")";
  EXPECT_EQ(FormatPlacement(Parsed(text)), text);
  EXPECT_EQ(Complaint("and(" + text + ")"), "'and(in,node,a)' is nested too deeply");
  EXPECT_FALSE(ParsePlacement(std::string(100'000, '(')).ok());
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "or(";
  EXPECT_FALSE(ParsePlacement(deep + "a=b" + std::string(100'000, ')')).ok());
}

}  // namespace
}  // namespace tony::jobfile
