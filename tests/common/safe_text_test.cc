// Text for people: nothing in it steers a terminal, whatever bytes it was made of.
#include "common/safe_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <random>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/utf8.h"

namespace tony {
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

// Bytes that a terminal may take for a command, or for the beginning of one, and what stands beside
// them in attacks.
constexpr char kPieces[] =
    "\x1b|\x1b[|\x1b]|\x1bP|\x1b^|\x1b_|\x1bX|\x1b\\|\x1b(B|\x1b#8|\033c|\x1b[31m|\x1b[0m|\x1b[6n|"
    "\x1b[38;5;1m|\x1b[2J|\x1b[?1049h|]0;t\a|]52;c;eA==|\a|\b|\r|\n|\t|\v|\f|\x7f|\x0e|\x9b|\x9d|"
    "\xc2|"
    "\xc2\x9b|\xc2\x9d|\xc2\x9c|\xc2\x90|\xc2\x80|\xc2\xa0|\xc5\x81|\xc5|\x81|\xd6\x92|"
    "\xe2\x82\xac|"
    "\xe2\x82|\xf0\x9f\x99\x82|\xf0\x9f|\xc0\x9b|\xf4\x90\x80\x80|\xed\xa0\x80|\xe0\x80\x9b|\xff|"
    "\xe2\x80\xae|\xe2\x81\xa6|\xe2\x80\x8f|\xd8\x9c|\xe2\x80\xa8|6|;|m| |/|plain|ä|漢";

/// A text of up to twelve pieces, some of them random bytes.
std::string RandomText(std::mt19937_64& random) {
  static const auto* const pieces = new std::vector<std::string>(absl::StrSplit(kPieces, '|'));
  std::string text;
  for (size_t count = random() % 13; count > 0; --count) {
    if (random() % 4 == 0) {
      text.push_back(static_cast<char>(random()));
    } else {
      text += (*pieces)[random() % pieces->size()];
    }
  }
  return text;
}

/// The reason why `text` is unsafe for a terminal; `lines`: line ends are allowed.
std::string Harm(const std::string& text, bool lines) {
  for (size_t position = 0; position < text.size();) {
    const Utf8Character character = DecodeUtf8(text, position);
    const uint32_t code = character.code_point;
    if (!character.well_formed) return absl::StrCat("not UTF-8 at ", position);
    const bool end = lines && code == '\n';
    const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    const bool direction = code == 0x061C || code == 0x200E || code == 0x200F ||
                           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x206F);
    if (!end && (control || direction))
      return absl::StrCat("U+", absl::Hex(code), " at ", position);
    position += character.bytes;
  }
  return "";
}

TEST(SafeText, HarmsNoTerminalWhateverItIsMadeOf) {
  std::mt19937_64 random(20260131);
  for (int round = 0; round < 400'000; ++round) {
    const std::string text = RandomText(random);
    const std::string safe = SafeText(text);
    ASSERT_EQ(Harm(safe, false), "") << absl::CHexEscape(text);
    ASSERT_EQ(SafeText(safe), safe) << absl::CHexEscape(text);
    const std::string lines = SafeLines(text);
    ASSERT_EQ(Harm(lines, true), "") << absl::CHexEscape(text);
    ASSERT_EQ(SafeLines(lines), lines) << absl::CHexEscape(text);
  }
}

TEST(SafeText, KeepsPlainText) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (size_t count = random() % 40; count > 0; --count) {
      const uint32_t code = random() % 2 == 0 ? 0x20 + random() % 0x5F : 0x370 + random() % 0x2000;
      const std::string one = EncodeUtf8(code);
      if (Harm(one, false).empty()) text += one;
    }
    ASSERT_EQ(SafeText(text), text);
    ASSERT_EQ(SafeLines(text + "\n" + text + "\n"), text + "\n" + text + "\n");
  }
}

// An escape sequence has bytes of ASCII only: what follows must not hide a second one.
TEST(SafeText, FindsTheEscapeBehindAMultiByteCharacter) {
  EXPECT_EQ(SafeText("\x1b\xC5\x81\x1b]0;PWNED\a!"), "\xC5\x81!");
  EXPECT_EQ(SafeText("\x1b[6\xD6\x92\x1b]0;PWNED\a!"), "\xD6\x92!");
  EXPECT_EQ(SafeText("\x1b\x1b[31m"), "");
  EXPECT_EQ(SafeText("\x1b(B!\x1b#8!"), "!!");
}

TEST(SafeLines, KeepsTheEndsOfLinesAndItsOwnColors) {
  EXPECT_EQ(SafeLines("a\x1b[2Jb\nc\td\n"), "ab\nc    d\n");
  EXPECT_EQ(SafeLines(""), "");
  EXPECT_EQ(SafeLines("\n\n"), "\n\n");
  // A sequence that is cut off ends with its line.
  EXPECT_EQ(SafeLines("\x1b]0;never ends\nb"), "\nb");
  const std::string red = "\x1b[31mred\x1b[0m";
  EXPECT_EQ(SafeLines(red), "red");
  EXPECT_EQ(SafeLines(red, Paint::kColors), red);
  EXPECT_EQ(SafeLines("\x1b[2J\x1b[1;31mx\x1b[3A\x1b[39m", Paint::kColors), "x");
}

TEST(PrintForPeople, WritesAllOfItsSafeLines) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_TRUE(PrintForPeople(ends[1], "one\x1b]0;x\a\ntwo"));
  char seen[64];
  const ssize_t count = read(ends[0], seen, sizeof seen);
  EXPECT_EQ(std::string(seen, count), "one\ntwo");
  close(ends[0]);
  close(ends[1]);
  EXPECT_FALSE(PrintForPeople(ends[1], "x"));
}

TEST(SafeJson, WritesWhatSteersATerminalAsItsNumber) {
  EXPECT_EQ(SafeJson("{\n \"a\": \"\xC2\x9B"
                     "31m\x7f\xE2\x80\xAE ä \\u001b\"}\n"),
            "{\n \"a\": \"\\u009b31m\\u007f\\u202e ä \\u001b\"}\n");
}

}  // namespace
}  // namespace tony
