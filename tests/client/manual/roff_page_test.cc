// Text becomes roff that shows the same text, whatever roff would take it for.
#include "client/manual/roff_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::client {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string BodyOf(const std::string& markdown) {
  RoffPage page("x", 1, "x");
  const size_t head = page.text().size();
  page.Document(markdown);
  return page.text().substr(head);
}

TEST(RoffText, HasNoMeaningForRoff) {
  EXPECT_EQ(RoffText("a\\,b --tail 'x' ~/.tony"), "a\\e,b \\-\\-tail \\(aqx\\(aq \\(ti/.tony");
}

TEST(RoffText, IsAscii) {
  EXPECT_EQ(RoffText("JOB… → 5 µs 😀"), "JOB\\[u2026] \\[u2192] 5 \\[u00B5]s \\[u1F600]");
  EXPECT_EQ(RoffText("\xff"), "\\[uFFFD]");
}

TEST(RoffInline, HasFonts) {
  EXPECT_EQ(RoffInline("set `a-b` or **c**, *D*"), "set \\fBa\\-b\\fR or \\fBc\\fR, \\fID\\fR");
  EXPECT_EQ(RoffInline("see [the `x` page](x.md#y)."), "see the \\fBx\\fR page.");
}

TEST(RoffInline, LeavesMarksWithoutAnEnd) {
  EXPECT_EQ(RoffInline("2 * 3, a* b, [JOB], `x"), "2 * 3, a* b, [JOB], \\(gax");
  EXPECT_EQ(RoffInline("****"), "****");
  EXPECT_EQ(RoffInline("``"), "\\(ga\\(ga");
  EXPECT_EQ(RoffInline("["), "[");
}

TEST(RoffPage, TextIsNeverARequest) {
  RoffPage page("x", 1, "x");
  page.Paragraph(".SH no section");
  EXPECT_THAT(page.text(), EndsWith(".PP\n\\&.SH no section\n"));
  page.Paragraph("a\n.SH b");
  EXPECT_THAT(page.text(), EndsWith(".PP\na .SH b\n"));
  page.Code({".x", "'y"});
  EXPECT_THAT(page.text(), EndsWith(".nf\n\\&.x\n\\(aqy\n.fi\n.RE\n"));
}

TEST(RoffPage, AHeadingIsOneArgument) {
  RoffPage page("x", 1, "x");
  page.Subsection("Say \"x\" twice");
  EXPECT_THAT(page.text(), EndsWith(".SS \"Say \\(dqx\\(dq twice\"\n"));
  EXPECT_THAT(page.text(), HasSubstr(".TH \"X\" 1 \"\" \"x\""));
}

TEST(RoffPage, ADocumentHasBulletsOfTwoLevels) {
  EXPECT_EQ(BodyOf("<!-- no -->\n# Title\n\none\ntwo\n\n## Part\n\n* **A**: a\n  more\n"
                   "  * inner\n\n  tail\n* B\n"),
            ".PP\none two\n.SH \"PART\"\n.IP \\(bu 2\n\\fBA\\fR: a more\n.RS 2\n.IP \\(bu 2\n"
            "inner\n.RE\n.IP \"\" 2\ntail\n.IP \\(bu 2\nB\n");
}

TEST(RoffPage, ADocumentKeepsCodeAsItIs) {
  EXPECT_EQ(BodyOf("a\n```xml\n<b>\n  -c\n\n```\nd"),
            ".PP\na\n.PP\n.RS 4\n.nf\n<b>\n  \\-c\n\n.fi\n.RE\n.PP\nd\n");
}

TEST(RoffPage, CodeWithoutAnEndEndsWithTheDocument) {
  EXPECT_EQ(BodyOf("```\na"), ".PP\n.RS 4\n.nf\na\n.fi\n.RE\n");
}

}  // namespace
}  // namespace tony::client
