// Widths of text, and what a terminal is.
#include "client/cli/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tony::client {
namespace {

TEST(Width, CountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("äöü"), 3);
  EXPECT_EQ(DisplayWidth("漢字"), 4);
  EXPECT_EQ(DisplayWidth("e\xCC\x81"), 1);  // e with a combining accent
  EXPECT_EQ(CutToWidth("漢字漢字", 5), "漢字…");
  EXPECT_EQ(CutToWidth("漢字漢字", 4), "漢…");
  EXPECT_EQ(CutToWidth("short", 5), "short");
  EXPECT_EQ(CutToWidth("short", 0), "");
  EXPECT_EQ(PadToWidth("ä", 3), "ä  ");
  EXPECT_EQ(PadToWidth("long", 2), "long");
}

TEST(Width, WrapsAtSpacesWhereThereAreAny) {
  using ::testing::ElementsAre;
  EXPECT_THAT(WrapToWidth("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(WrapToWidth("one two three", 6), ElementsAre("one", "two", "three"));
  EXPECT_THAT(WrapToWidth("a/path/of/length", 6), ElementsAre("a/path", "/of/le", "ngth"));
  EXPECT_THAT(WrapToWidth("漢字漢字", 5), ElementsAre("漢字", "漢字"));
  EXPECT_THAT(WrapToWidth("", 5), ElementsAre(""));
  EXPECT_THAT(WrapToWidth("漢", 1), ElementsAre("漢"));
}

// Text that was never made safe must not lead outside of its bytes.
TEST(Width, CountsMalformedBytesOneByOne) {
  for (const char* text : {"\xC5", "\x81", "\xF0\x9F", "\xE2\x82", "\xFF"}) {
    EXPECT_GE(DisplayWidth(text), 1) << text;
    EXPECT_EQ(WrapToWidth(text, 80).front(), text);
  }
}

TEST(Terminal, APipeIsNone) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Environment environment;
  environment.term = "xterm";
  EXPECT_FALSE(IsLiveTerminal(ends[1], environment));
  EXPECT_EQ(DescribeScreen(ends[1], environment).width, 80);
  EXPECT_FALSE(DescribeScreen(ends[1], environment).color);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace tony::client
