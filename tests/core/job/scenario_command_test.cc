// Scenario files that are refused, and the sentences that say what was expected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/job/job_scenario.h"

namespace tony::core {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kJob[] = "job worker=2 ps=1\n";

/// The sentence by which `commands`, after a job of three tasks, are refused; "" when they are not.
std::string RefusalOf(const std::string& commands) {
  const auto result = JobScenario().Run(kJob + commands + "\n----\n", "life.txt");
  if (result.ok()) return "";
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(result.status().message());
}

TEST(ScenarioCommandTest, RefusalNamesFileLineAndWhatWasExpected) {
  EXPECT_EQ(RefusalOf("start\n# a comment counts as a line\n\nadvance soon"),
            "life.txt:5: advance: unknown word \"soon\"; expected a duration like 5s or 200ms");
}

TEST(ScenarioCommandTest, RefusesUnknownCommandsAndListsTheKnownOnes) {
  EXPECT_THAT(RefusalOf("sart"), AllOf(StartsWith("life.txt:2: unknown command \"sart\""),
                                       HasSubstr("start, grant, grant-unasked")));
  // Also where no task has a container, and where effects are not shown.
  EXPECT_THAT(RefusalOf("quietly start; atach all"), HasSubstr("unknown command \"atach\""));
}

TEST(ScenarioCommandTest, RefusesUnknownAndSurplusWords) {
  EXPECT_THAT(RefusalOf("start now"), HasSubstr("surplus word \"now\"; expected no word"));
  EXPECT_THAT(RefusalOf("stop \"Enough\" again"), HasSubstr("surplus word \"again\"; expected 1"));
  EXPECT_THAT(RefusalOf("attach worker:0 everybody"),
              HasSubstr("\"everybody\"; expected all, a task like worker:0 or a container"));
  EXPECT_THAT(RefusalOf("process worker:0 pid=1 start=1"), HasSubstr("expected a container"));
  EXPECT_THAT(RefusalOf("refuse never \"why\""), HasSubstr("expected never-fits or failed"));
  EXPECT_THAT(RefusalOf("plan driver:0 worker:0"), HasSubstr("surplus word"));
}

TEST(ScenarioCommandTest, RefusesUnknownAndRepeatedOptions) {
  EXPECT_THAT(RefusalOf("register all epok=1"),
              HasSubstr("unknown option \"epok=\"; expected epoch=, attempt=, page="));
  EXPECT_THAT(RefusalOf("gone all why=\"ended\""), HasSubstr("expected no option"));
  EXPECT_THAT(RefusalOf("register all epoch=1 epoch=2"), HasSubstr("epoch is given twice"));
}

TEST(ScenarioCommandTest, RefusesMalformedAndOutOfRangeNumbers) {
  for (const char* const code : {"", "x", "1x", "+1", " 1", "-1", "256", "99999999999"}) {
    EXPECT_THAT(RefusalOf("end c1 code=\"" + std::string(code) + "\""),
                HasSubstr("expected a number from 0 to 255"))
        << code;
  }
  EXPECT_THAT(RefusalOf("end c1 signal=0"), HasSubstr("expected a number from 1 to 64"));
  EXPECT_THAT(RefusalOf("register c1 page=65536"), HasSubstr("expected a number from 1 to 65535"));
  EXPECT_THAT(RefusalOf("started c1 epoch=-2"), HasSubstr("expected a number from -1"));
  EXPECT_THAT(RefusalOf("started c1 attempt=0"), HasSubstr("expected a number from 1"));
}

TEST(ScenarioCommandTest, RefusesMalformedDurations) {
  for (const char* const duration : {"5", "s", "ms", "5m", "5 s", "-5s", "5.5s", "1000001s"}) {
    EXPECT_THAT(RefusalOf("stall \"" + std::string(duration) + "\""),
                HasSubstr("expected a duration like 5s or 200ms"))
        << duration;
  }
  EXPECT_EQ(RefusalOf("stall 1000000s"), "");
}

TEST(ScenarioCommandTest, RefusesWhatLacksAWordOrAnOption) {
  EXPECT_THAT(RefusalOf("attach"), HasSubstr("a word is missing; expected all, a task"));
  EXPECT_THAT(RefusalOf("wait \"there is no node\""), HasSubstr("a word is missing"));
  EXPECT_THAT(RefusalOf("reattach all"), HasSubstr("expected phase=, preparing, registered"));
  EXPECT_THAT(RefusalOf("quietly start;"), HasSubstr("expected a command"));
}

TEST(ScenarioCommandTest, ATaskEndsInExactlyOneWay) {
  EXPECT_THAT(RefusalOf("end c1"), HasSubstr("0 ways to end; expected one of code, signal"));
  EXPECT_THAT(RefusalOf("end c1 timed-out code=1"), HasSubstr("2 ways to end"));
}

TEST(ScenarioCommandTest, RefusesListsOfAnotherForm) {
  EXPECT_THAT(RefusalOf("rendezvous c1 \"waits\" missing=worker:0,ps"), HasSubstr("tasks like"));
  EXPECT_THAT(RefusalOf("round c1 number=0 members=worker:0"),
              HasSubstr("members like worker:0/1"));
}

TEST(ScenarioCommandTest, QuotesKeepSpacesSemicolonsAndEqualsSigns) {
  EXPECT_EQ(RefusalOf("wait \"a=b; c\" \"d\""), "");
  EXPECT_EQ(RefusalOf("quietly start; wait \"a; b\" \"c=d\""), "");
  EXPECT_THAT(RefusalOf("stop \"Enough"), HasSubstr("expected a closing quote"));
  EXPECT_THAT(RefusalOf("start; start"), HasSubstr("expected one command"));
}

TEST(ScenarioCommandTest, RefusesCommandsWhoseOutcomeIsNotShown) {
  const auto result = JobScenario().Run("job worker=1\n----\nstate=NEW\n\nstart\n", "life.txt");
  EXPECT_EQ(result.status().message(), "life.txt:5: expected a line ---- after the command");
}

TEST(ScenarioCommandTest, RefusesCommandsBeforeThereIsAJob) {
  const auto result = JobScenario().Run("start\n----\n", "life.txt");
  EXPECT_EQ(result.status().message(), "life.txt:1: start: there is no job yet; expected job");
}

TEST(ScenarioCommandTest, CommandsForNobodyAreViolations) {
  const auto result = JobScenario().Run(kJob + std::string("attach ps:0\n----\n"), "life.txt");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(*result, HasSubstr("VIOLATION attach: no task has a container"));
  const auto again = JobScenario().Run(kJob + std::string("grant-again c1\n----\n"), "life.txt");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(*again, HasSubstr("VIOLATION no container to grant again: c1"));
}

TEST(ScenarioJobTest, RefusesWhatIsNoOptionOfAJob) {
  const std::vector<std::pair<std::string, std::string>> refusals = {
      {"worker=2 patient", "surplus word \"patient\""},
      {"worker=two", "worker is \"two\"; expected a number from 0"},
      {"worker=1 worker=2", "worker is \"2\"; expected it once"},
      {"worker=1 retries=-1", "retries is \"-1\"; expected a number from 0"},
      {"worker=1 missed=0", "missed is \"0\"; expected a number from 1"},
      {"worker=1 hold=60", "hold is \"60\"; expected a duration"},
      {"worker=1 untracked=ps", "untracked is \"ps\"; expected types of this job"},
      {"worker=1 sidecar=worker:0", "expected task types, separated by commas"},
      {"worker=1 scope=worker:job", "scope is \"worker:job\"; expected TYPE:task or TYPE:type"},
      {"worker=1 after=worker", "after is \"worker\"; expected TYPE:TYPE+TYPE"},
      {"worker=1 ps=1 after=worker:ps+chief", "after is \"chief\"; expected types of this job"},
      {"worker=1 limit=worker:5s", "expected TYPE:DURATION:TYPE+TYPE"},
      {"worker=1 ps=1 limit=worker:5:ps", "expected a duration like 5s or 200ms in it"},
      {"worker=1 ps=1 limit=worker:5s:ps:maybe", "with or without :ignored"},
      {"worker=2 elastic=2", "expected LEAST:FIRST"},
      {"worker=2 elastic=2:1", "expected LEAST:FIRST"},
      {"worker=1 tolerant=no", "tolerant is \"no\"; expected no value"},
      {"worker=1 tolerant tolerant", "tolerant is given twice"},
  };
  for (const auto& [words, sentence] : refusals) {
    const auto result = JobScenario().Run("job " + words + "\n----\n", "life.txt");
    EXPECT_THAT(std::string(result.status().message()),
                AllOf(StartsWith("life.txt:1: job: "), HasSubstr(sentence)));
  }
}

}  // namespace
}  // namespace tony::core
