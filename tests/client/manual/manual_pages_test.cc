// Every verb, option, key and exit status stands on a page of the manual.
#include "client/manual/manual_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/options.h"
#include "client/manual/roff_page.h"
#include "client/verbs/verb_table.h"
#include "core/record/verdict.h"
#include "jobfile/keys/key_table.h"

namespace tony::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string PageText(const std::string& file) {
  for (const ManualPage& page : ManualPages()) {
    if (page.file == file) return page.text;
  }
  ADD_FAILURE() << "there is no page " << file;
  return "";
}

void ExpectOptions(const OptionTable& table, const std::string& file) {
  const std::string text = PageText(file);
  for (const OptionRow& row : table) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("\\fB", RoffText("--" + row.name), "\\fR"))) << file;
    for (const std::string& choice : row.choices) EXPECT_THAT(text, HasSubstr(choice)) << row.name;
  }
}

TEST(ManualPages, EveryOptionIsOnItsPage) {
  ExpectOptions(SubmitTable(), "tony-submit.1");
  ExpectOptions(CommonOptions(), "tony.1");
  for (const Verb& verb : AllVerbs()) {
    ExpectOptions(AllOptions(verb), absl::StrCat("tony-", verb.name, ".1"));
  }
}

TEST(ManualPages, EveryVerbIsOnThePageOfTony) {
  const std::string text = PageText("tony.1");
  for (const Verb& verb : AllVerbs()) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("\n\\fB", verb.name, "\\fR ")));
    for (const std::string& alias : verb.aliases) EXPECT_THAT(text, HasSubstr(alias));
  }
}

TEST(ManualPages, EveryKeyIsOnThePageOfTheJobFile) {
  const std::string text = PageText("tony-job.5");
  for (const jobfile::KeyGroup& group : jobfile::KeyGroups()) {
    for (const jobfile::Key& key : group.keys) {
      EXPECT_THAT(text, HasSubstr(absl::StrCat("\n\\fB", RoffText(key.name), "\\fR\n")));
    }
  }
}

TEST(ManualPages, NoMarkdownIsLeft) {
  for (const ManualPage& page : ManualPages()) {
    for (const char* mark : {"\\(ga", "**", "](", "```"}) {
      EXPECT_THAT(page.text, Not(HasSubstr(mark))) << page.file;
    }
  }
}

TEST(ManualPages, AreAscii) {
  for (const ManualPage& page : ManualPages()) {
    EXPECT_TRUE(std::all_of(page.text.begin(), page.text.end(), [](char character) {
      return character == '\n' || (character >= ' ' && character <= '~');
    })) << page.file;
  }
}

TEST(ManualPages, APageOfAVerbHasItsParts) {
  std::vector<std::string> parts;
  const std::string text = PageText("tony-list.1");
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, ".SH ")) parts.emplace_back(line.substr(4));
  }
  EXPECT_THAT(parts, ElementsAre("\"NAME\"", "\"SYNOPSIS\"", "\"DESCRIPTION\"", "\"OPTIONS\"",
                                 "\"EXIT STATUS\"", "\"SEE ALSO\""));
  EXPECT_THAT(text, HasSubstr("\ntony\\-list \\- all jobs, newest first\n"));
  EXPECT_THAT(text, HasSubstr("\\fBtony\\fR \\fBls\\fR \\[u2026]\n"));
}

/// The statuses that a table of meanings has words for.
std::vector<int> Statuses(const ExitMeanings& exits) {
  std::vector<int> statuses;
  for (const ExitMeaning& exit : exits) statuses.push_back(exit.status);
  return statuses;
}

TEST(ExitMeanings, AVerdictEndsWithAStatusThatHasAMeaning) {
  const std::vector<int> of_submit = Statuses(SubmitExits());
  const std::vector<int> of_verbs = Statuses(JobVerbExits());
  for (int reason = 0; reason <= static_cast<int>(core::Reason::kMasterStopped); ++reason) {
    for (const core::Outcome outcome :
         {core::Outcome::kSucceeded, core::Outcome::kFailed, core::Outcome::kKilled}) {
      core::Verdict verdict;
      verdict.outcome = outcome;
      verdict.reason = static_cast<core::Reason>(reason);
      EXPECT_THAT(of_submit, ::testing::Contains(core::ExitCode(verdict)));
      EXPECT_THAT(of_verbs, ::testing::Contains(core::ExitCode(verdict)));
    }
  }
}

TEST(ExitMeanings, AreWrapped) {
  EXPECT_EQ(RenderExitMeanings(UsualVerbExits(), 80),
            "Exit status: 0 done, 1 no such job or task, 2 bad usage or a bad job file, 3 the\n"
            "machine or the job's ApplicationMaster failed.\n");
}

}  // namespace
}  // namespace tony::client
