// The one table of transitions, and the names of states.
#include "core/tasks/job_state.h"

#include <gtest/gtest.h>

#include <set>

namespace tony::core {
namespace {

constexpr JobState kStates[] = {JobState::kNew,     JobState::kAllocating, JobState::kRegistering,
                                JobState::kRunning, JobState::kRestarting, JobState::kStopping,
                                JobState::kEnded};
constexpr JobTrigger kTriggers[] = {JobTrigger::kStart,          JobTrigger::kGangGranted,
                                    JobTrigger::kGangRegistered, JobTrigger::kAttemptFailed,
                                    JobTrigger::kVerdict,        JobTrigger::kAllGone};

TEST(JobStateTest, EveryStateButTheLastCanBeStoppedOnce) {
  for (JobState state : kStates) {
    const bool stoppable = state != JobState::kStopping && state != JobState::kEnded;
    EXPECT_EQ(NextState(state, JobTrigger::kVerdict) == JobState::kStopping, stoppable)
        << JobStateName(state);
  }
}

TEST(JobStateTest, NothingLeavesTheEnd) {
  for (JobTrigger trigger : kTriggers) EXPECT_FALSE(NextState(JobState::kEnded, trigger));
}

TEST(JobStateTest, NothingLeavesStoppingButTheEndOfTheLastContainer) {
  for (JobTrigger trigger : kTriggers) {
    EXPECT_EQ(NextState(JobState::kStopping, trigger).has_value(), trigger == JobTrigger::kAllGone);
  }
}

TEST(JobStateTest, EveryStateCanBeReached) {
  std::set<JobState> reached = {JobState::kNew};
  for (size_t round = 0; round < std::size(kStates); ++round) {
    for (JobState state : std::set<JobState>(reached)) {
      for (JobTrigger trigger : kTriggers) {
        if (const auto next = NextState(state, trigger)) reached.insert(*next);
      }
    }
  }
  EXPECT_EQ(reached.size(), std::size(kStates));
}

TEST(JobStateTest, RunningComesOnlyFromACompleteGang) {
  for (JobState state : kStates) {
    for (JobTrigger trigger : kTriggers) {
      if (NextState(state, trigger) != JobState::kRunning) continue;
      EXPECT_EQ(trigger, JobTrigger::kGangRegistered) << JobStateName(state);
    }
  }
}

TEST(JobStateTest, NamesCanBeReadBackAndAreDistinct) {
  std::set<std::string> names;
  for (JobState state : kStates) {
    EXPECT_EQ(ParseJobState(JobStateName(state)), state);
    EXPECT_TRUE(names.insert(JobStateName(state)).second);
  }
  EXPECT_EQ(ParseJobState("running"), std::nullopt);
  names.clear();
  for (int value = 0; value <= static_cast<int>(TaskState::kStopped); ++value) {
    const auto state = static_cast<TaskState>(value);
    EXPECT_EQ(ParseTaskState(TaskStateName(state)), state);
    EXPECT_TRUE(names.insert(TaskStateName(state)).second);
  }
  EXPECT_EQ(ParseTaskState(""), std::nullopt);
  EXPECT_EQ(ParseTaskState("UNKNOWN"), std::nullopt);
}

}  // namespace
}  // namespace tony::core
