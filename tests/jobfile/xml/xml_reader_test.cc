// Hadoop's XML: what is read, and each way in which a file can be wrong.
#include "jobfile/xml/xml_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/jobfile/spec_test_util.h"

namespace tony::jobfile {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::string ProblemsOfText(const std::string& xml) {
  return RenderProblems(ParseXml(xml, "job.xml").problems);
}

TEST(XmlReaderTest, ReadsPropertiesWithTheirLines) {
  const XmlFile file = ParseXml(R"(<?xml version="1.0"?>
<?xml-stylesheet type="text/xsl" href="configuration.xsl"?>
<!-- a job -->
<configuration>
  <property>
    <description>How many</description>
    <name> tony.worker.instances </name>
    <value>
      2
    </value>
  </property>
  <property><name>a</name><value/><final>true</final><source>x.xml</source></property>
</configuration>
)",
                                "job.xml");
  EXPECT_THAT(RenderProblems(file.problems), IsEmpty());
  ASSERT_EQ(file.properties.size(), 2u);
  EXPECT_EQ(file.properties[0].name, "tony.worker.instances");
  EXPECT_EQ(file.properties[0].value, "2");
  EXPECT_EQ(file.properties[0].line, 7);
  EXPECT_FALSE(file.properties[0].final);
  EXPECT_EQ(file.properties[1].value, "");
  EXPECT_EQ(file.properties[1].line, 12);
  EXPECT_TRUE(file.properties[1].final);
}

TEST(XmlReaderTest, KeepsTextAroundCommentsAndInCData) {
  const XmlFile file = ParseXml(
      "<configuration><property><name>a</name>"
      "<value>x &lt; y<!-- why --> &amp;&amp; <![CDATA[<z>]]></value></property></configuration>",
      "job.xml");
  EXPECT_THAT(RenderProblems(file.problems), IsEmpty());
  ASSERT_EQ(file.properties.size(), 1u);
  EXPECT_EQ(file.properties[0].value, "x < y && <z>");
}

TEST(XmlReaderTest, ReportsMalformedXmlWithItsLine) {
  const XmlFile file = ParseXml("<configuration>\n<property>\n<name>a</property>\n", "job.xml");
  EXPECT_FALSE(file.readable);
  EXPECT_THAT(
      RenderProblems(file.problems),
      StartsWith("job.xml:3: malformed XML: </property> stands inside <name>, opened in line "
                 "3; correct the XML"));
}

TEST(XmlReaderTest, RefusesFilesThatAreNoConfiguration) {
  EXPECT_THAT(ProblemsOfText(""), HasSubstr("the file is empty"));
  EXPECT_THAT(ProblemsOfText("just text"), StartsWith("job.xml"));
  EXPECT_THAT(ProblemsOfText("<!-- nothing -->"), HasSubstr("no <configuration>"));
  EXPECT_THAT(ProblemsOfText("\n<config/>"),
              StartsWith("job.xml:2: the root element is <config>, not <configuration>"));
  EXPECT_THAT(ProblemsOfText(std::string("\x7f"
                                         "ELF\0\1\2",
                                         7)),
              StartsWith("job.xml"));
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  EXPECT_THAT(ProblemsOfText(deep), StartsWith("job.xml"));
}

TEST(XmlReaderTest, NamesBothLinesOfAKeySetTwice) {
  EXPECT_EQ(ProblemsOfText(Xml({{"a", "1"}, {"b", "2"}, {"a", "3"}})),
            "job.xml:4: a: is set twice, first in line 2; remove one of the two\n");
}

TEST(XmlReaderTest, KeepsTheFirstOfAKeyAndThoseThatSetItAgain) {
  const XmlFile file = ParseXml(Xml({{"a", "1"}, {"a", "2"}, {"a", "3"}}), "job.xml");
  ASSERT_EQ(file.properties.size(), 1);
  EXPECT_EQ(file.properties[0].value, "1");
  ASSERT_EQ(file.repeated.size(), 2);
  EXPECT_EQ(file.repeated[1].value, "3");
  EXPECT_EQ(file.repeated[1].line, 4);
}

TEST(XmlReaderTest, ReportsEveryMissingPart) {
  EXPECT_THAT(ProblemsOfText("<configuration>\n<property><value>1</value></property>\n"
                             "<property><name>b</name></property>\n"
                             "<property><name> </name><value>1</value></property>\n"
                             "</configuration>"),
              testing::AllOf(HasSubstr("job.xml:2: a <property> without a <name>"),
                             HasSubstr("job.xml:4: a <property> without a <name>")));
}

TEST(XmlReaderTest, APropertyMayLackItsValue) {
  const XmlFile file = ParseXml(
      "<configuration><property><name>a</name></property>"
      "<property><name>b</name><value/></property></configuration>",
      "job.xml");
  EXPECT_EQ(RenderProblems(file.problems), "");
  ASSERT_EQ(file.properties.size(), 2u);
  EXPECT_FALSE(file.properties[0].has_value);
  EXPECT_TRUE(file.properties[1].has_value);
}

TEST(XmlReaderTest, RefusesWhatTheFormatDoesNotHave) {
  const auto inside = [](const std::string& xml) {
    return ProblemsOfText("<configuration>\n" + xml + "\n</configuration>");
  };
  EXPECT_THAT(inside("<xi:include href='other.xml'/>"),
              HasSubstr("job.xml:2: xi:include is not supported; copy the properties"));
  EXPECT_THAT(inside("<propertyy/>"), HasSubstr("job.xml:2: unknown element <propertyy>"));
  EXPECT_THAT(inside("stray"), HasSubstr("text outside of <name> and <value>"));
  EXPECT_THAT(inside("<property name='a' value='b'/>"), HasSubstr("attributes of <property>"));
  EXPECT_THAT(inside("<property><name>a</name><value>1</value><vlaue>2</vlaue></property>"),
              HasSubstr("unknown element <vlaue> in <property>"));
  EXPECT_THAT(inside("<property><name>a</name><value>1</value><value>2</value></property>"),
              HasSubstr("a second <value>"));
  EXPECT_THAT(inside("<property><name>a</name><value>x<b/>y</value></property>"),
              HasSubstr("element <b> inside of <value>"));
  EXPECT_THAT(inside("<property>text<name>a</name><value>1</value></property>"),
              HasSubstr("text outside of <name> and <value>"));
  EXPECT_THAT(ProblemsOfText("<configuration/><configuration/>"),
              HasSubstr("something follows </configuration>"));
}

TEST(XmlReaderTest, ReportsAllProblemsOfAFileAtOnce) {
  const XmlFile file =
      ParseXml("<configuration><a/><property/><property x=''/></configuration>", "job.xml");
  EXPECT_EQ(file.problems.size(), 3u);
  EXPECT_TRUE(file.readable);
}

TEST(XmlFileTest, ReportsFilesThatCannotBeRead) {
  const TemporaryFolder folder;
  const auto problems = [&](const std::string& name) {
    const XmlFile file = ReadXmlFile(folder.path() + "/" + name, name);
    EXPECT_FALSE(file.readable);
    return RenderProblems(file.problems);
  };
  EXPECT_EQ(problems("none.xml"), "none.xml: does not exist; correct the path\n");
  std::filesystem::create_directory(folder.path() + "/dir.xml");
  EXPECT_EQ(problems("dir.xml"),
            "dir.xml: is a folder, not a file; name a configuration file in XML\n");
  ASSERT_EQ(mkfifo((folder.path() + "/pipe.xml").c_str(), 0600), 0);
  EXPECT_THAT(problems("pipe.xml"), HasSubstr("is neither a file nor a folder"));
  folder.Write("large.xml", std::string(16 * 1024 * 1024 + 1, ' '));
  EXPECT_THAT(problems("large.xml"), HasSubstr("at most 16777216 are read"));
  folder.Write("empty.xml", "");
  EXPECT_THAT(problems("empty.xml"), HasSubstr("the file is empty"));
}

TEST(XmlFileTest, ReportsAFileThatTheUserMayNotRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read every file";
  const TemporaryFolder folder;
  const std::string path = folder.Write("secret.xml", Xml({}));
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  EXPECT_EQ(RenderProblems(ReadXmlFile(path, "secret.xml").problems),
            "secret.xml: cannot be read: Permission denied; make it readable for the user who "
            "submits\n");
}

}  // namespace
}  // namespace tony::jobfile
