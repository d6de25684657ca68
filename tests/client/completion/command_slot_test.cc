// The word at the cursor is taken for what the finished line would take it for.
#include "client/completion/command_slot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::client {
namespace {

using ::testing::ElementsAre;
using Kind = CommandSlot::Kind;

const OptionTable& Table() {
  static const OptionTable table = {
      {"conf", "KEY=VALUE", true, ""}, {"tail", "N", false, "", "n"}, {"dry-run", "", false, ""}};
  return table;
}

CommandSlot Find(const std::vector<std::string>& words, bool takes_command = false) {
  return FindSlot(Table(), takes_command, words);
}

TEST(CommandSlot, KnowsArgumentsByTheirNumber) {
  EXPECT_EQ(Find({""}).kind, Kind::kArgument);
  const CommandSlot slot = Find({"a", "--dry-run", "--tail", "5", "-conf=x=y", "b", "c"});
  EXPECT_EQ(slot.kind, Kind::kArgument);
  EXPECT_THAT(slot.before.positionals, ElementsAre("a", "b"));
  EXPECT_EQ(slot.before.Value("tail"), "5");
  EXPECT_EQ(slot.before.Value("conf"), "x=y");
  EXPECT_TRUE(slot.before.Has("dry-run"));
  EXPECT_EQ(slot.word, "c");
}

TEST(CommandSlot, KnowsValuesInBothForms) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--tail", "5"}, {"-tail", "5"}, {"-n", "5"}}) {
    const CommandSlot slot = Find(words);
    EXPECT_EQ(slot.kind, Kind::kValue);
    EXPECT_EQ(slot.row, &Table()[1]);
    EXPECT_EQ(slot.prefix, "");
    EXPECT_EQ(slot.word, "5");
  }
  const CommandSlot slot = Find({"x", "--conf=tony.am=1"});
  EXPECT_EQ(slot.kind, Kind::kValue);
  EXPECT_EQ(slot.row, &Table()[0]);
  EXPECT_EQ(slot.prefix, "--conf=");
  EXPECT_EQ(slot.word, "tony.am=1");
}

TEST(CommandSlot, AValueMayLookLikeAnOption) {
  EXPECT_EQ(Find({"--tail", "-"}).kind, Kind::kValue);
  EXPECT_EQ(Find({"--tail", "--dry-run", "--"}).kind, Kind::kOption);
}

TEST(CommandSlot, KnowsOptions) {
  for (const char* word : {"-", "--", "--dry", "-n"}) {
    EXPECT_EQ(Find({word}).kind, Kind::kOption) << word;
  }
  EXPECT_EQ(Find({"-", "x"}).before.positionals.size(), 1u);
}

TEST(CommandSlot, EndsOptionsAtTwoDashes) {
  EXPECT_EQ(Find({"--", "--dry"}).kind, Kind::kArgument);
  EXPECT_EQ(Find({"--", "--tail", ""}).before.positionals.size(), 1u);
}

TEST(CommandSlot, LeavesAUsersCommandAlone) {
  EXPECT_FALSE(Find({"--tail", "2", "pyth"}, true).is_command);
  const CommandSlot slot = Find({"--tail", "2", "python3", "--dry-run", "--t"}, true);
  EXPECT_EQ(slot.kind, Kind::kArgument);
  EXPECT_TRUE(slot.is_command);
  EXPECT_FALSE(slot.before.Has("dry-run"));
}

TEST(CommandSlot, PassesOverMistakes) {
  const CommandSlot slot = Find({"--no-such", "--dry-run=1", "--tail", "1", "--tail", "2", ""});
  EXPECT_EQ(slot.kind, Kind::kArgument);
  EXPECT_TRUE(slot.before.positionals.empty());
  EXPECT_EQ(Find({"--no-such="}).row, nullptr);
}

TEST(WithoutQuotes, ReadsAsAShellDoes) {
  EXPECT_EQ(WithoutQuotes("a'b c'\"d\\\"e\"\\ f"), "ab cd\"e f");
  EXPECT_EQ(WithoutQuotes("'a\\b'"), "a\\b");
  EXPECT_EQ(WithoutQuotes("\"open"), "open");
  EXPECT_EQ(WithoutQuotes("\\"), "\\");
  EXPECT_EQ(WithoutQuotes(""), "");
}

}  // namespace
}  // namespace tony::client
