// Text that means something to a browser.
#include "web/http/html.h"

#include <gtest/gtest.h>

namespace tony::web {
namespace {

TEST(Escape, NothingIsMarkupAnyMore) {
  EXPECT_EQ(Escape("<a href=\"x\" title='y'>&amp;"),
            "&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;amp;");
  EXPECT_EQ(Escape("Grüße\t1\n2"), "Grüße\t1\n2");
  EXPECT_EQ(Escape(std::string("a\0b\x1b[31m\x7f", 9)),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD[31m\xEF\xBF\xBD");
}

TEST(Escape, NothingTurnsTheDirectionOfWhatIsBehindIt) {
  const std::string replaced = "\xEF\xBF\xBD";
  for (const char* turns : {"\u061C", "\u200E", "\u200F", "\u202A", "\u202E", "\u2066", "\u2069"}) {
    EXPECT_EQ(Escape(std::string("a") + turns + "b"), "a" + replaced + "b") << turns;
    EXPECT_EQ(Escape(turns), replaced) << turns;
  }
  // Their neighbours, Arabic and Hebrew text, and what is cut off stay as they are.
  for (const char* stays : {"\u061B", "\u200D", "\u2010", "\u2029", "\u202F", "\u2065", "\u206A",
                            "\u0627\u05D0", "\xE2\x80", "\xE2", "\xD8"}) {
    EXPECT_EQ(Escape(stays), stays);
  }
}

TEST(EncodePathPart, StaysOnePart) {
  EXPECT_EQ(EncodePathPart("worker-0"), "worker-0");
  EXPECT_EQ(EncodePathPart("../a b?#\"%ü"), "..%2Fa%20b%3F%23%22%25%C3%BC");
}

}  // namespace
}  // namespace tony::web
