// What is said about XML whose tags do not match.
#include "jobfile/xml/tag_mismatch.h"

#include "gtest/gtest.h"

namespace tony::jobfile {
namespace {

std::string Said(const std::string& text) {
  const std::optional<TagMismatch> found = FindTagMismatch(text);
  return found ? std::to_string(found->line) + ": " + found->sentence : "";
}

TEST(TagMismatchTest, NamesTheElementThatIsOpen) {
  EXPECT_EQ(Said("<configuration>\n<property>\n</property>\n"),
            "4: the file ends inside <configuration>, opened in line 1");
  EXPECT_EQ(Said("<a>\n<b>\n</a>"), "3: </a> stands inside <b>, opened in line 2");
  EXPECT_EQ(Said("<a/>\n</b>"), "2: </b> closes nothing");
}

TEST(TagMismatchTest, WhatIsNoTagDoesNotCount) {
  EXPECT_EQ(Said("<?xml version='1.0'?><!DOCTYPE a><!-- <b> --><a x='1'><![CDATA[<c>]]></a >"), "");
  EXPECT_EQ(Said(""), "");
  EXPECT_EQ(Said("<"), "");
  EXPECT_EQ(Said("<a><!-- "), "");
}

}  // namespace
}  // namespace tony::jobfile
