// The keys that leave a remote terminal.
#include "client/exec/escape_keys.h"

#include <gtest/gtest.h>

#include <string>

namespace tony::client {
namespace {

/// What is passed on when the keys are typed one by one.
std::string Typed(EscapeKeys& escape, const std::string& keys) {
  std::string passed;
  for (const char key : keys) passed += escape.Take(std::string(1, key));
  return passed;
}

TEST(EscapeKeysTest, TheFirstKeysOfALineLeave) {
  EscapeKeys escape;
  EXPECT_EQ(Typed(escape, "ls\r~."), "ls\r");
  EXPECT_TRUE(escape.left());
}

TEST(EscapeKeysTest, TheyLeaveAtTheVeryBeginningAndInOnePiece) {
  EscapeKeys escape;
  EXPECT_EQ(escape.Take("~.lost"), "");
  EXPECT_TRUE(escape.left());
}

TEST(EscapeKeysTest, ATildeIsATilde) {
  EscapeKeys escape;
  EXPECT_EQ(Typed(escape, "cd ~.\r"), "cd ~.\r");
  EXPECT_EQ(Typed(escape, "~/bin\r"), "~/bin\r");
  EXPECT_EQ(Typed(escape, "~~.\r"), "~.\r");
  EXPECT_EQ(Typed(escape, "x"), "x");
  EXPECT_FALSE(escape.left());
}

}  // namespace
}  // namespace tony::client
