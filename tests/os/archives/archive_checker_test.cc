// The rules for entries, without any archive.
#include "os/archives/archive_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tony::os {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using Kind = ArchiveEntry::Kind;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

std::optional<std::string> NoLinks(const std::string&) { return std::nullopt; }

absl::StatusCode CodeOf(ArchiveChecker& checker, const ArchiveEntry& entry) {
  return checker.Check(entry).status().code();
}

TEST(ArchiveCheckerTest, PlainEntries) {
  ArchiveChecker checker({}, 100);
  EXPECT_TRUE(checker.Check({"./", Kind::kFolder})->empty());
  EXPECT_THAT(checker.Check({"d/f", Kind::kFile, "", 5}).value(), ElementsAre("d", "f"));
  EXPECT_TRUE(checker.Check({"d/h", Kind::kHardLink, "d/f"}).ok());
  EXPECT_TRUE(checker.Check({"d/l", Kind::kSymbolicLink, "../d/f"}).ok());
  EXPECT_TRUE(checker.CheckLinks(NoLinks).ok());
  EXPECT_EQ(checker.entries(), 4);
  EXPECT_THAT(checker.links(), ElementsAre(Pair("d/l", "../d/f")));
}

TEST(ArchiveCheckerTest, RefusesPlacesOutside) {
  ArchiveChecker checker({}, 100);
  EXPECT_EQ(CodeOf(checker, {"/f", Kind::kFile}), kInvalid);
  EXPECT_EQ(CodeOf(checker, {"d/../../f", Kind::kFile}), kInvalid);
  EXPECT_EQ(CodeOf(checker, {"h", Kind::kHardLink, "/etc/passwd"}), kInvalid);
  EXPECT_EQ(CodeOf(checker, {"h", Kind::kHardLink, "../f"}), kInvalid);
  EXPECT_EQ(CodeOf(checker, {"l", Kind::kSymbolicLink, "/etc"}), kInvalid);
  EXPECT_EQ(CodeOf(checker, {"l", Kind::kSymbolicLink, ""}), kInvalid);
  EXPECT_EQ(CodeOf(checker, {"dev", Kind::kOther}), kInvalid);
  EXPECT_EQ(CodeOf(checker, {".", Kind::kFile}), kInvalid);
  EXPECT_EQ(CodeOf(checker, {"", Kind::kSymbolicLink, "x"}), kInvalid);
}

TEST(ArchiveCheckerTest, RefusesToGoThroughLinks) {
  ArchiveChecker checker({}, 100);
  ASSERT_TRUE(checker.Check({"d/l", Kind::kSymbolicLink, "x"}).ok());
  for (const Kind kind : {Kind::kFile, Kind::kFolder}) {
    EXPECT_EQ(CodeOf(checker, {"d/l", kind}), kInvalid);
    EXPECT_EQ(CodeOf(checker, {"d/./l/f", kind}), kInvalid);
  }
  EXPECT_EQ(CodeOf(checker, {"d/l", Kind::kSymbolicLink, "y"}), kInvalid);
  EXPECT_EQ(CodeOf(checker, {"h", Kind::kHardLink, "d/l"}), kInvalid);
  EXPECT_EQ(CodeOf(checker, {"h", Kind::kHardLink, "d/l/f"}), kInvalid);
  EXPECT_TRUE(checker.Check({"d/longer", Kind::kFile}).ok());
}

TEST(ArchiveCheckerTest, RefusesLinksThatLeaveOnlyTogether) {
  ArchiveChecker checker({}, 100);
  ASSERT_TRUE(checker.Check({"a/b/up", Kind::kSymbolicLink, "../.."}).ok());
  ASSERT_TRUE(checker.Check({"out", Kind::kSymbolicLink, "a/b/up/.."}).ok());
  const absl::Status status = checker.CheckLinks(NoLinks);
  EXPECT_EQ(status.code(), kInvalid);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'out'"));
}

TEST(ArchiveCheckerTest, KnowsLinksOfTheDestination) {
  ArchiveChecker checker({}, 100);
  ASSERT_TRUE(checker.Check({"l", Kind::kSymbolicLink, "old/passwd"}).ok());
  EXPECT_TRUE(checker.CheckLinks(NoLinks).ok());
  const auto lookup = [](const std::string& path) -> std::optional<std::string> {
    if (path == "old") return "/etc";
    return std::nullopt;
  };
  EXPECT_EQ(checker.CheckLinks(lookup).code(), kInvalid);
}

TEST(ArchiveCheckerTest, HoldsLinksBack) {
  UnpackOptions options;
  options.hold_back_link = [](const std::string& path, const std::string&) { return path == "p"; };
  ArchiveChecker checker(options, 100);
  EXPECT_TRUE(checker.Check({"./p", Kind::kSymbolicLink, "/usr/bin/p"}).ok());
  EXPECT_EQ(CodeOf(checker, {"q", Kind::kSymbolicLink, "/usr/bin/q"}), kInvalid);
  EXPECT_EQ(CodeOf(checker, {"p/f", Kind::kFile}), kInvalid);
  EXPECT_TRUE(checker.links().empty());
  EXPECT_THAT(checker.held_links(), ElementsAre(Pair("p", "/usr/bin/p")));
  ASSERT_TRUE(checker.Check({"r", Kind::kSymbolicLink, "p/below"}).ok());
  EXPECT_EQ(checker.CheckLinks(NoLinks).code(), kInvalid) << "r leaves through p";
}

TEST(ArchiveCheckerTest, LimitsEntries) {
  UnpackOptions options;
  options.limits.max_entries = 2;
  ArchiveChecker checker(options, 100);
  EXPECT_TRUE(checker.Check({"a", Kind::kFolder}).ok());
  EXPECT_TRUE(checker.Check({"b", Kind::kFolder}).ok());
  EXPECT_EQ(CodeOf(checker, {"c", Kind::kFolder}), kExhausted);
}

TEST(ArchiveCheckerTest, FoldersThatNamesImplyAreEntries) {
  UnpackOptions options;
  options.limits.max_entries = 7;
  ArchiveChecker checker(options, 100);
  EXPECT_TRUE(checker.Check({"a/b/f", Kind::kFile}).ok());  // three
  EXPECT_TRUE(checker.Check({"a/b/g", Kind::kFile}).ok());
  EXPECT_TRUE(checker.Check({"a/b", Kind::kFolder}).ok());
  EXPECT_TRUE(checker.Check({"a/c", Kind::kFolder}).ok());
  EXPECT_EQ(checker.entries(), 4);
  EXPECT_EQ(CodeOf(checker, {"a/d/l", Kind::kSymbolicLink, "x"}), kExhausted);
}

// The way to a hard link's target is made before it is known that there is none.
TEST(ArchiveCheckerTest, FoldersOfAHardLinksTargetAreEntries) {
  UnpackOptions options;
  options.limits.max_entries = 3;
  ArchiveChecker checker(options, 100);
  EXPECT_TRUE(checker.Check({"f", Kind::kFile}).ok());
  EXPECT_EQ(CodeOf(checker, {"h", Kind::kHardLink, "a/b/c"}), kExhausted);
}

TEST(ArchiveCheckerTest, FoldersTakeSpace) {
  UnpackOptions options;
  options.limits.max_bytes = 4 * kFolderBytes;
  ArchiveChecker checker(options, 100);
  EXPECT_TRUE(checker.Check({"a/b/f", Kind::kFile, "", kFolderBytes}).ok());
  EXPECT_TRUE(checker.Check({"a", Kind::kFolder}).ok());
  EXPECT_TRUE(checker.Check({"c", Kind::kFolder}).ok());
  EXPECT_EQ(CodeOf(checker, {"d", Kind::kFolder}), kExhausted);
  EXPECT_TRUE(ArchiveChecker(options, 100).CheckTotal(4 * kFolderBytes).ok());
  EXPECT_EQ(checker.CheckTotal(std::numeric_limits<int64_t>::max()).code(), kExhausted);
}

TEST(ArchiveCheckerTest, LimitsTheDepth) {
  UnpackOptions options;
  options.limits.max_depth = 3;
  ArchiveChecker checker(options, 100);
  EXPECT_TRUE(checker.Check({"a/b/c", Kind::kFile}).ok());
  EXPECT_TRUE(checker.Check({"./a//b/./d", Kind::kFolder}).ok());
  EXPECT_EQ(CodeOf(checker, {"a/b/c/d", Kind::kFile}), kExhausted);
  EXPECT_EQ(CodeOf(checker, {"h", Kind::kHardLink, "a/b/c/d"}), kExhausted);
}

TEST(ArchiveCheckerTest, LimitsBytes) {
  UnpackOptions options;
  options.limits.max_bytes = 1000;
  ArchiveChecker checker(options, 100);
  EXPECT_TRUE(checker.Check({"a", Kind::kFile, "", 600}).ok());
  EXPECT_EQ(CodeOf(checker, {"b", Kind::kFile, "", 600}), kExhausted);
  const int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(CodeOf(checker, {"c", Kind::kFile, "", huge}), kExhausted);
  EXPECT_EQ(CodeOf(checker, {"d", Kind::kFile, "", -huge}), kExhausted) << "gives nothing back";
  EXPECT_TRUE(checker.CheckTotal(1000).ok());
  EXPECT_EQ(checker.CheckTotal(1001).code(), kExhausted);
}

TEST(ArchiveCheckerTest, LimitsRatioBeyondAFloor) {
  UnpackOptions options;
  options.limits.max_ratio = 10;
  options.limits.ratio_floor_bytes = 5000;
  const ArchiveChecker checker(options, 100);
  EXPECT_TRUE(checker.CheckTotal(5000).ok());
  EXPECT_EQ(checker.CheckTotal(5001).code(), kExhausted);
  EXPECT_TRUE(ArchiveChecker(options, 1000).CheckTotal(10'000).ok());
}

}  // namespace
}  // namespace tony::os
