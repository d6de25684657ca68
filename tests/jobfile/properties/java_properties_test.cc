// Tests of the reader of Java's properties; the expectations are what java.util.Properties gives.
#include "jobfile/properties/java_properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace tony::jobfile {
namespace {

using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::vector<JavaProperty> Parse(const std::string& text) {
  const auto properties = ParseJavaProperties(text, "step.properties");
  EXPECT_TRUE(properties.ok()) << properties.status();
  return properties.value_or(std::vector<JavaProperty>());
}

std::string ValueOf(const std::string& text) {
  const std::vector<JavaProperty> properties = Parse("a=" + text + "\n");
  return properties.size() == 1 ? properties[0].value : "not one property";
}

std::string Refusal(const std::string& text) {
  return std::string(ParseJavaProperties(text, "step.properties").status().message());
}

TEST(JavaProperties, NamesEndAtTheFirstSeparatorWithoutBackslash) {
  EXPECT_THAT(Parse("a=1\nb:2\nc 3\nd\t=\t4\ne  5=6\nf\n"),
              ElementsAre(FieldsAre("a", "1", 1), FieldsAre("b", "2", 2), FieldsAre("c", "3", 3),
                          FieldsAre("d", "4", 4), FieldsAre("e", "5=6", 5), FieldsAre("f", "", 6)));
  EXPECT_THAT(Parse(R"(a\:b\=c\ d=x)"), ElementsAre(FieldsAre("a:b=c d", "x", 1)));
  EXPECT_THAT(Parse("=x"), ElementsAre(FieldsAre("", "x", 1)));
}

TEST(JavaProperties, WhatAzkabanWritesIsReadBack) {
  EXPECT_THAT(Parse("#Fri Nov 27 12:00:00 UTC 2026\n"
                    "azkaban.webserverhost=http\\://h\\:8081\n"
                    "task_params=--a\\=1 C\\:\\\\x\\ty\n"),
              ElementsAre(FieldsAre("azkaban.webserverhost", "http://h:8081", 2),
                          FieldsAre("task_params", "--a=1 C:\\x\ty", 3)));
}

TEST(JavaProperties, CommentsAndEmptyLinesAreSkippedAndCounted) {
  EXPECT_THAT(Parse("# a\\\n! b\n\n  \t\n  # c\nd=1\r\n\r\ne=2\rf=3"),
              ElementsAre(FieldsAre("d", "1", 6), FieldsAre("e", "2", 8), FieldsAre("f", "3", 9)));
}

TEST(JavaProperties, ABackslashAtTheEndContinuesTheLine) {
  EXPECT_THAT(Parse("a=1,\\\n   2,\\\r\n# 3\nb=4\n"),
              ElementsAre(FieldsAre("a", "1,2,# 3", 1), FieldsAre("b", "4", 4)));
  EXPECT_THAT(Parse("a=1\\\\\nb=2\n"),
              ElementsAre(FieldsAre("a", "1\\", 1), FieldsAre("b", "2", 2)));
  EXPECT_THAT(Parse("a=1\\\n\nb=2\n"), ElementsAre(FieldsAre("a", "1", 1), FieldsAre("b", "2", 3)));
  EXPECT_THAT(Parse("a=1\\"), ElementsAre(FieldsAre("a", "1", 1)));
}

TEST(JavaProperties, EscapesAreReplaced) {
  EXPECT_EQ(ValueOf(R"(\t\n\r\f\q\\\"\u0041\u00e9\u20AC)"), "\t\n\r\fq\\\"A\u00e9\u20ac");
  EXPECT_EQ(ValueOf(R"(\ud83D\uDe00!)"), "\U0001F600!");
  EXPECT_EQ(ValueOf("two  words \t"), "two  words \t");
}

TEST(JavaProperties, BytesAreLatin1) { EXPECT_EQ(ValueOf("gr\xF6\xDF\x65"), "größe"); }

TEST(JavaProperties, TheLastOneOfANameCounts) {
  EXPECT_THAT(Parse("a=1\nb=2\na=3\n"),
              ElementsAre(FieldsAre("a", "3", 3), FieldsAre("b", "2", 2)));
  EXPECT_THAT(Parse(""), IsEmpty());
}

TEST(JavaProperties, WhatCannotBeReadIsNamedByItsLine) {
  EXPECT_THAT(Refusal("a=1\n\nb=\\u12\n"),
              StartsWith("step.properties:3: '\\u12': four hexadecimal digits must follow"));
  EXPECT_THAT(Refusal("a=\\u+123\n"), HasSubstr("'\\u+123'"));
  for (const char* half : {R"(a=\ud83d)", R"(a=\ud83dx)", R"(a=\ud83d\u0041)", R"(a=\ude00)"}) {
    EXPECT_THAT(Refusal(half), HasSubstr("is half of a surrogate pair; write both")) << half;
  }
  EXPECT_THAT(Refusal("a=\\u0000"), HasSubstr("step.properties:1: there is a NUL character"));
}

TEST(JavaProperties, AFileIsNamedByItsPath) {
  const std::string path = testing::TempDir() + "/step.properties";
  EXPECT_EQ(ReadJavaProperties(path + ".none").status().message(), path + ".none does not exist");
  std::ofstream(path) << "a=b\n";
  const auto properties = ReadJavaProperties(path);
  ASSERT_TRUE(properties.ok()) << properties.status();
  EXPECT_THAT(*properties, ElementsAre(FieldsAre("a", "b", 1)));
}

TEST(RepairMisreadUtf8, OnlyWhatIsUtf8AsAWhole) {
  EXPECT_EQ(RepairMisreadUtf8("gr\u00C3\u00B6\u00C3\u009Fe"), "größe");
  EXPECT_EQ(RepairMisreadUtf8("größe"), "größe");        // plain Latin-1
  EXPECT_EQ(RepairMisreadUtf8("größe, €"), "größe, €");  // beyond Latin-1
  EXPECT_EQ(RepairMisreadUtf8("gr\u00C3\u00B6 und ß"), "gr\u00C3\u00B6 und ß");
  EXPECT_EQ(RepairMisreadUtf8("ascii"), "ascii");
}

}  // namespace
}  // namespace tony::jobfile
