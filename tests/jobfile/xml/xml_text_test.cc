// Encodings and entities of job files: what is read, and what is said of the rest.
#include "jobfile/xml/xml_text.h"

#include "absl/strings/str_cat.h"
#include "jobfile/xml/xml_reader.h"
#include "tests/jobfile/spec_test_util.h"

namespace tony::jobfile {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::string ProblemsOfText(const std::string& xml) {
  return RenderProblems(ParseXml(xml, "job.xml").problems);
}

/// A configuration of one key with `value`, behind `head`.
std::string WithValue(const std::string& value, const std::string& head = "") {
  return head + "<configuration>\n<property><name>a</name>\n<value>" + value +
         "</value></property></configuration>";
}

/// Each byte of ASCII text as a character of `width` bytes.
std::string Widened(const std::string& text, size_t width, bool big_endian) {
  std::string wide;
  for (const char c : text) {
    std::string one(width, '\0');
    one[big_endian ? width - 1 : 0] = c;
    wide += one;
  }
  return wide;
}

TEST(XmlEncodingTest, WideEncodingsHaveTheirSentence) {
  const std::string xml = WithValue("1", "<?xml version=\"1.0\" encoding=\"UTF-16\"?>");
  for (const bool big_endian : {false, true}) {
    for (const std::string& mark :
         {std::string(), std::string(big_endian ? "\xFE\xFF" : "\xFF\xFE")}) {
      EXPECT_EQ(ProblemsOfText(mark + Widened(xml, 2, big_endian)),
                "job.xml: the file is UTF-16, of which only UTF-8 is read; save it as UTF-8\n");
    }
    EXPECT_THAT(ProblemsOfText(Widened(xml, 4, big_endian)), HasSubstr("the file is UTF-32"));
  }
  EXPECT_THAT(ProblemsOfText(std::string("\xFF\xFE\0\0<\0\0\0", 8)), HasSubstr("UTF-32"));
  EXPECT_THAT(ProblemsOfText(std::string("\0\0\xFE\xFF\0\0\0<", 8)), HasSubstr("UTF-32"));
}

TEST(XmlEncodingTest, Latin1IsConvertedWhereItIsDeclared) {
  for (const char* const name : {"ISO-8859-1", "iso-8859-1", "latin1"}) {
    const XmlFile file = ParseXml(
        WithValue("gr\xFC\xDF", absl::StrCat("<?xml version='1.0' encoding='", name, "'?>\n")), "");
    ASSERT_EQ(file.properties.size(), 1u) << name << RenderProblems(file.problems);
    EXPECT_EQ(file.properties[0].value, "grüß") << name;
  }
}

TEST(XmlEncodingTest, Utf8IsReadWithAndWithoutAMark) {
  for (const char* const head : {"", "\xEF\xBB\xBF", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
                                 "<?xml version=\"1.0\" encoding='utf-8' standalone=\"yes\"?>\n",
                                 "<?xml version=\"1.0\"?>"}) {
    const XmlFile file = ParseXml(WithValue("grüß", head), "job.xml");
    ASSERT_EQ(file.properties.size(), 1u) << head << RenderProblems(file.problems);
    EXPECT_EQ(file.properties[0].value, "grüß") << head;
  }
}

TEST(XmlEncodingTest, BytesThatAreNotWhatIsDeclaredAreAProblem) {
  EXPECT_EQ(ProblemsOfText(WithValue("gr\xFC")),
            "job.xml:3: the file is not UTF-8: the byte 0xfc in this line; save it as UTF-8, or "
            "declare <?xml version=\"1.0\" encoding=\"ISO-8859-1\"?> if it is that\n");
  EXPECT_THAT(ProblemsOfText(WithValue("gr\xFC", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")),
              HasSubstr("is not UTF-8"));
  EXPECT_EQ(ProblemsOfText(WithValue("gr\x81", "<?xml version=\"1.0\" encoding=\"cp850\"?>")),
            "job.xml:1: the encoding 'cp850' is not known here; save it as UTF-8, and declare "
            "that\n");
  EXPECT_THAT(ProblemsOfText(WithValue("1", "<?xml version=\"1.0\" encoding=\"cp850\"?>")),
              IsEmpty());
}

TEST(XmlEntityTest, PredefinedOnesAndNumbersAreExpanded) {
  EXPECT_EQ(ExpandEntities("&lt;&gt;&amp;&quot;&apos;&#65;&#x42;&#xe4;&#x1F642;").text,
            "<>&\"'ABä🙂");
  EXPECT_EQ(ExpandEntities("&amp;amp; &amp;#65;").text, "&amp; &#65;");
  for (const char* const plain : {"a && b", "a & b;", "x?a=1&b=2;c", "&", "&;", "a&", "& amp;"}) {
    EXPECT_EQ(ExpandEntities(plain).text, plain);
    EXPECT_EQ(ExpandEntities(plain).unknown, "");
  }
}

TEST(XmlEntityTest, WhatStandsForNothingIsAProblem) {
  for (const char* const unknown : {"&own;", "&nbsp;", "&#0;", "&#x110000;", "&#xD800;", "&#27;",
                                    "&#99999999999;", "&#x;", "&#;", "&AMP;"}) {
    EXPECT_EQ(ExpandEntities(absl::StrCat("a", unknown, "b")).unknown, unknown);
    EXPECT_EQ(ExpandEntities(absl::StrCat("a", unknown, "b")).text,
              absl::StrCat("a", unknown, "b"));
  }
  EXPECT_EQ(ProblemsOfText(WithValue("x &own; y &other;")),
            "job.xml:3: the entity &own; is not known here; write its text, or &amp;own; for these "
            "characters themselves\n");
  EXPECT_THAT(ProblemsOfText(WithValue("<![CDATA[&own;]]>")), IsEmpty());
}

constexpr char kDoctype[] =
    "<?xml version=\"1.0\"?>\n<!DOCTYPE configuration [\n<!ENTITY own \"rm -rf\">\n"
    "<!ENTITY file SYSTEM \"file:///etc/passwd\">\n]>\n";

TEST(XmlDoctypeTest, IsNotedAndItsEntitiesAreNotKnown) {
  const XmlFile file = ParseXml(WithValue("1", kDoctype), "job.xml");
  EXPECT_THAT(RenderProblems(file.problems), IsEmpty());
  EXPECT_EQ(RenderProblems(file.notes),
            "job.xml:2: the DOCTYPE is not read; entities that it declares are not known here\n");
  ASSERT_EQ(file.properties.size(), 1u);
  EXPECT_EQ(file.properties[0].value, "1");
  EXPECT_THAT(ProblemsOfText(WithValue("&own;", kDoctype)),
              StartsWith("job.xml:8: the entity &own; is not known here"));
  EXPECT_THAT(ProblemsOfText(WithValue("&file;", kDoctype)), HasSubstr("the entity &file;"));
}

TEST(XmlDoctypeTest, AJobRunsAllTheSame) {
  const TemporaryFolder folder;
  folder.Write("job.xml",
               "<!DOCTYPE configuration SYSTEM \"hadoop.dtd\">\n" +
                   Xml({{"tony.worker.instances", "1"}, {"tony.worker.command", "true"}}));
  const LoadedJob job =
      LoadJob({.job_file = folder.path() + "/job.xml", .home_folder = folder.path()});
  EXPECT_THAT(RenderProblems(job.result.problems), IsEmpty());
  EXPECT_THAT(RenderProblems(job.result.notes), HasSubstr("the DOCTYPE is not read"));
}

}  // namespace
}  // namespace tony::jobfile
