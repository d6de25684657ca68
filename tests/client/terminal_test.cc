// Harmless text, widths and durations.
#include "client/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tony::client {
namespace {

TEST(SafeText, DropsWhatSteersATerminal) {
  EXPECT_EQ(SafeText("plain ä 漢 🙂"), "plain ä 漢 🙂");
  EXPECT_EQ(SafeText("\x1b[31mred\x1b[0m"), "red");
  EXPECT_EQ(SafeText("\x1b]0;title\a after"), " after");
  EXPECT_EQ(SafeText("\x1b]8;;http://x\x1b\\link"), "link");
  EXPECT_EQ(SafeText("\x1bPstring\x1b\\x"), "x");
  EXPECT_EQ(SafeText("a\b\b\r\x7f"
                     "b"),
            "ab");
  EXPECT_EQ(SafeText("\xc2\x9b"
                     "31m"),
            "31m");  // the one-character CSI of ISO 6429
  EXPECT_EQ(SafeText("a\tb"), "a    b");
  EXPECT_EQ(SafeText("a\r\nb"), "a b");
  EXPECT_EQ(SafeText("\xff\xfe!"), "\xEF\xBF\xBD\xEF\xBF\xBD!");
  EXPECT_EQ(SafeText("x\xE2\x80\xAE"
                     "y"),
            "xy");  // right-to-left override
  EXPECT_EQ(SafeText(std::string("a\0b", 3)), "ab");
}

TEST(SafeText, SurvivesEscapesThatEndTooEarly) {
  for (const char* text : {"\x1b", "\x1b[", "\x1b[1;", "\x1b]", "\x1b]0;never ends", "\x1bP"}) {
    EXPECT_EQ(SafeText(text), "") << text;
  }
}

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
