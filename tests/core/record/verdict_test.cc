// Names and exit codes of verdicts, and the phrases for a task's end.
#include "core/record/verdict.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/tree/source_tree.h"

namespace tony::core {
namespace {

Verdict Of(Outcome outcome, Reason reason) {
  Verdict verdict;
  verdict.outcome = outcome;
  verdict.reason = reason;
  return verdict;
}

TEST(VerdictTest, ExitCodesTellTheUsersFaultFromOurs) {
  const std::map<Reason, int> codes = {
      {Reason::kTaskFailed, 1},
      {Reason::kOutOfMemory, 1},
      {Reason::kTaskNotStarted, 1},
      {Reason::kTaskTimedOut, 3},
      {Reason::kTaskLost, 3},
      {Reason::kHeartbeatLost, 3},
      {Reason::kRegistrationTimeout, 3},
      {Reason::kAllocationTimeout, 3},
      {Reason::kApplicationTimeout, 3},
      {Reason::kDependencyTimeout, 3},
      {Reason::kNeverFits, 5},
      {Reason::kBackendFailed, 3},
  };
  for (const auto& [reason, code] : codes) {
    EXPECT_EQ(ExitCode(Of(Outcome::kFailed, reason)), code) << ReasonName(reason);
  }
}

TEST(VerdictTest, SuccessIsZeroAlsoWithToleratedFailures) {
  EXPECT_EQ(ExitCode(Of(Outcome::kSucceeded, Reason::kTasksSucceeded)), 0);
  EXPECT_EQ(ExitCode(Of(Outcome::kSucceeded, Reason::kSomeTasksFailed)), 0);
}

TEST(VerdictTest, KilledIsFourWhoeverDidIt) {
  for (Reason reason : {Reason::kKilledByUser, Reason::kClientGone, Reason::kMasterStopped}) {
    EXPECT_EQ(ExitCode(Of(Outcome::kKilled, reason)), 4) << ReasonName(reason);
  }
}

TEST(VerdictTest, NamesCanBeReadBackAndAreDistinct) {
  std::set<std::string> names;
  for (int value = 0; value <= static_cast<int>(Reason::kMasterStopped); ++value) {
    const auto reason = static_cast<Reason>(value);
    EXPECT_EQ(ParseReason(ReasonName(reason)), reason);
    EXPECT_TRUE(names.insert(ReasonName(reason)).second) << ReasonName(reason);
  }
  EXPECT_EQ(names.count("UNKNOWN"), 0u);
  EXPECT_EQ(ParseReason("task_failed"), std::nullopt);
  EXPECT_EQ(ParseReason("UNKNOWN"), std::nullopt);
  for (Outcome outcome : {Outcome::kSucceeded, Outcome::kFailed, Outcome::kKilled}) {
    EXPECT_EQ(ParseOutcome(OutcomeName(outcome)), outcome);
  }
  EXPECT_EQ(ParseOutcome(""), std::nullopt);
}

TEST(TaskExitTest, DescribesEachEnd) {
  TaskExit exit;
  EXPECT_TRUE(exit.ok());
  EXPECT_EQ(exit.Describe(), "exited with code 0");
  exit = {TaskExit::Cause::kExited, 127, 0, "the command was not found", {}};
  EXPECT_FALSE(exit.ok());
  EXPECT_EQ(exit.Describe(), "exited with code 127: the command was not found");
  exit = {TaskExit::Cause::kSignaled, 0, SIGKILL, "", {}};
  EXPECT_FALSE(exit.ok());
  EXPECT_EQ(exit.Describe(), "was killed by signal 9 (SIGKILL)");
  exit = {TaskExit::Cause::kSignaled, 0, 60, "", {}};
  EXPECT_EQ(exit.Describe(), "was killed by signal 60");
  exit = {TaskExit::Cause::kNotStarted, 0, 0, "no space left", {}};
  EXPECT_FALSE(exit.ok());
  EXPECT_EQ(exit.Describe(), "could not be started: no space left");
  exit = {TaskExit::Cause::kTimedOut, 0, 0, "", {}};
  EXPECT_EQ(exit.Describe(), "was stopped because it ran longer than allowed");
  exit = {TaskExit::Cause::kOutOfMemory, 0, 0, "peak 2.1 GiB, limit 2 GiB", {}};
  EXPECT_EQ(exit.Describe(), "used more memory than its container has: peak 2.1 GiB, limit 2 GiB");
  EXPECT_FALSE(exit.ok());
  exit = {TaskExit::Cause::kLost, 0, 0, "the node is down", {}};
  EXPECT_EQ(exit.Describe(), "was lost: the node is down");
  exit = {TaskExit::Cause::kStopped, 0, SIGTERM, "", {}};
  EXPECT_FALSE(exit.ok());
  EXPECT_EQ(exit.Describe(), "was ended by tony");
}

// The page's title of a code is "### NAME", followed by "Exit code N."
TEST(VerdictTest, TroubleshootingHasASectionForEachReason) {
  std::ifstream page(InSourceTree("docs/troubleshooting.md"));
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  ASSERT_FALSE(text.empty());
  const auto outcome_of = [](Reason reason) {
    if (reason <= Reason::kSomeTasksFailed) return Outcome::kSucceeded;
    return reason < Reason::kKilledByUser ? Outcome::kFailed : Outcome::kKilled;
  };
  std::set<std::string> sections;
  for (int value = 0; value <= static_cast<int>(Reason::kMasterStopped); ++value) {
    const Reason reason = static_cast<Reason>(value);
    const std::string section = absl::StrCat("\n### ", ReasonName(reason), "\n\nExit code ",
                                             ExitCode(Of(outcome_of(reason), reason)), ". ");
    EXPECT_NE(text.find(section), std::string::npos) << section;
    sections.insert(ReasonName(reason));
  }
  size_t titles = 0;
  for (size_t at = text.find("\n### "); at != std::string::npos; at = text.find("\n### ", at + 1)) {
    ++titles;
  }
  EXPECT_EQ(titles, sections.size()) << "a section without a reason code";
}

}  // namespace
}  // namespace tony::core
