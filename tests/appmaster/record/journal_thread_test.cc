// A journal that is written beside the event loop.
#include "appmaster/record/journal_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "storage/local_job_files.h"
#include "tests/common/loop_driver.h"
#include "tests/os/temporary_folder.h"

namespace tony::appmaster {
namespace {

using ::testing::ElementsAre;

core::Decisions Verdict(const std::string& sentence) {
  core::Verdict verdict;
  verdict.sentence = sentence;
  return {core::decision::VerdictReached{verdict}};
}

class JournalThreadTest : public ::testing::Test {
 protected:
  Journal Open() {
    return Journal::Open(std::make_unique<storage::LocalJobFiles>(folder_.path()), clock_, "boot")
        .value();
  }
  /// The sentences of all verdicts that are kept, oldest first.
  std::vector<std::string> Kept() {
    std::vector<std::string> sentences;
    for (const Journal::Past& past : Open().TakePast()) {
      for (const core::Decision& decision : past.decisions) {
        sentences.push_back(std::get<core::decision::VerdictReached>(decision).verdict.sentence);
      }
    }
    return sentences;
  }
  DecisionLog::OnKept Remember(int number) {
    return [this, number](const absl::Status& status) {
      answers_.push_back(absl::StrCat(number, " ", absl::StatusCodeToString(status.code())));
      driver_.Changed();
    };
  }

  os::TemporaryFolder folder_;
  FakeClock clock_;
  LoopDriver driver_;
  std::vector<std::string> answers_;
};

TEST_F(JournalThreadTest, AnswersInOrderOnceItIsKept) {
  JournalThread journal(Open(), driver_.loop());
  EXPECT_EQ(journal.incarnation(), 1);
  for (int number = 0; number < 3; ++number) {
    journal.Append(Verdict(absl::StrCat(number)), Remember(number));
  }
  EXPECT_THAT(answers_, ElementsAre());
  ASSERT_TRUE(driver_.Await([this] { return answers_.size() == 3; }));
  EXPECT_THAT(answers_, ElementsAre("0 OK", "1 OK", "2 OK"));
  EXPECT_THAT(Kept(), ElementsAre("0", "1", "2"));
}

TEST_F(JournalThreadTest, OneThatWasReplacedLearnsIt) {
  JournalThread journal(Open(), driver_.loop());
  Open();
  journal.Append(Verdict("late"), Remember(1));
  ASSERT_TRUE(driver_.Await([this] { return !answers_.empty(); }));
  EXPECT_THAT(answers_, ElementsAre("1 ABORTED"));
  EXPECT_THAT(Kept(), ElementsAre());
}

TEST_F(JournalThreadTest, WhatItWasToldIsKeptThoughItGoesAway) {
  {
    JournalThread journal(Open(), driver_.loop());
    journal.Append(Verdict("last"), Remember(1));
  }
  EXPECT_THAT(Kept(), ElementsAre("last"));
  driver_.loop().Post([this] { driver_.Changed(); });
  driver_.loop().Run();
  EXPECT_THAT(answers_, ElementsAre());
}

}  // namespace
}  // namespace tony::appmaster
