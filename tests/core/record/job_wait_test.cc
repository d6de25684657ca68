// No state without a sentence: what is waited for, who is missing, what would unblock it.
#include "core/record/job_wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace tony::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<AwaitedTask> Tasks(const std::vector<TaskState>& states) {
  std::vector<AwaitedTask> tasks;
  for (const TaskState state : states) {
    tasks.push_back({{"worker", static_cast<int>(tasks.size())}, state});
  }
  return tasks;
}

// Every pair of states of two tasks, also such as do not belong to the job's.
std::vector<std::vector<AwaitedTask>> AllTasks() {
  std::vector<std::vector<AwaitedTask>> all;
  for (int first = 0; first <= static_cast<int>(TaskState::kStopped); ++first) {
    for (int second = 0; second <= static_cast<int>(TaskState::kStopped); ++second) {
      all.push_back(Tasks({static_cast<TaskState>(first), static_cast<TaskState>(second)}));
    }
  }
  return all;
}

TEST(JobWaitTest, NoStateIsWithoutASentence) {
  int states = 0;
  // A state that is new in the enumeration has a name, or the table of names does not compile
  // without a warning either.
  for (; JobStateName(static_cast<JobState>(states)) != "UNKNOWN"; ++states) {
    const auto state = static_cast<JobState>(states);
    for (const std::vector<AwaitedTask>& tasks : AllTasks()) {
      const std::optional<JobWaiting> wait = WaitIn(state, tasks);
      EXPECT_EQ(wait.has_value(), state != JobState::kEnded) << JobStateName(state);
      if (!wait) continue;
      EXPECT_THAT(wait->what, Not(IsEmpty())) << JobStateName(state);
      EXPECT_THAT(wait->unblock, Not(IsEmpty())) << JobStateName(state);
    }
  }
  EXPECT_EQ(states, static_cast<int>(JobState::kEnded) + 1);
}

struct Case {
  JobState state;
  std::vector<TaskState> tasks;
  std::string what;
  std::vector<std::string> missing;
};

TEST(JobWaitTest, WhoIsMissingIsNamed) {
  using J = JobState;
  using T = TaskState;
  const std::vector<Case> cases = {
      {J::kNew, {T::kNew}, "the ApplicationMaster has not begun", {"the ApplicationMaster"}},
      {J::kAllocating, {T::kNew, T::kReady}, "1 of 2 tasks have no container", {"worker:0"}},
      {J::kRegistering, {T::kStarting, T::kReady}, "1 of 2 tasks are not ready", {"worker:0"}},
      {J::kRestarting, {T::kReady, T::kStarting}, "1 of 2 tasks are not ready", {"worker:1"}},
      {J::kRestarting, {T::kReady, T::kReady}, "the next start is held back", {}},
      {J::kRunning, {T::kRunning, T::kSucceeded}, "1 of 2 tasks run", {"worker:0"}},
      {J::kRunning, {T::kRunning, T::kStarting}, "1 of 2 tasks start", {"worker:1"}},
      {J::kStopping, {T::kStopped, T::kRunning}, "1 of 2 tasks have not ended", {"worker:1"}},
      {J::kStopping, {T::kNew, T::kRunning}, "1 of 2 tasks have not ended", {"worker:1"}},
      {J::kStopping, {T::kStopped, T::kFailed}, "the executors end", {"worker:0", "worker:1"}},
  };
  for (const Case& expected : cases) {
    const std::optional<JobWaiting> wait = WaitIn(expected.state, Tasks(expected.tasks));
    ASSERT_TRUE(wait.has_value());
    EXPECT_THAT(wait->what, HasSubstr(expected.what));
    EXPECT_EQ(wait->missing, expected.missing) << expected.what;
  }
}

TEST(JobWaitTest, TasksThatTheEndDoesNotWaitForAreNotMissing) {
  std::vector<AwaitedTask> tasks = Tasks({TaskState::kRunning, TaskState::kRunning});
  tasks[0].tracked = false;
  EXPECT_THAT(WaitIn(JobState::kRunning, tasks)->missing, ElementsAre("worker:1"));
}

TEST(JobWaitTest, AJobThatMerelyRunsWaitsForNothing) {
  JobView view;
  JobSubmitted submitted;
  submitted.types = {{"worker", 2}};
  view.Apply({1, 1, submitted});
  view.Apply({2, 1, JobStateChanged{JobState::kRunning, 0, ""}});
  EXPECT_EQ(WaitOf(view)->what, "2 of 2 tasks start; the others run");
  view.Apply({3, 1, TaskChanged{.task = {"worker", 0}, .state = TaskState::kRunning}});
  EXPECT_EQ(WaitOf(view)->what, "1 of 2 tasks start; the others run");
  view.Apply({4, 1, TaskChanged{.task = {"worker", 1}, .state = TaskState::kRunning}});
  EXPECT_EQ(WaitOf(view), std::nullopt);
  view.Apply({5, 1, TaskChanged{.task = {"worker", 1}, .state = TaskState::kSucceeded}});
  EXPECT_EQ(WaitOf(view), std::nullopt);
  view.Apply({6, 1, JobStateChanged{JobState::kStopping, 0, ""}});
  EXPECT_EQ(WaitOf(view)->what, "1 of 2 tasks have not ended yet; the verdict stands");
}

TEST(JobWaitTest, ManyNamesAreCutShort) {
  const std::vector<AwaitedTask> tasks = Tasks(std::vector<TaskState>(20, TaskState::kNew));
  const std::optional<JobWaiting> wait = WaitIn(JobState::kAllocating, tasks);
  EXPECT_EQ(wait->missing.size(), 17);
  EXPECT_EQ(wait->missing.back(), "and 4 more");
}

TEST(JobWaitTest, TheViewAndTheTableSayTheSame) {
  std::vector<TaskType> types(2);
  types[0].name = "ps";
  types[0].instances = 1;
  types[0].tracking = Tracking::kUntracked;
  types[1].name = "worker";
  types[1].instances = 2;
  TaskTable table(types);
  JobView view;
  JobSubmitted submitted;
  submitted.types = {{"ps", 1, false}, {"worker", 2}};
  view.Apply({1, 1, submitted});
  int64_t sequence = 1;
  for (Task& task : table.all()) {
    table.SetState(task, TaskState::kRunning);
    TaskChanged change;
    change.task = task.id;
    change.state = task.state;
    ++sequence;
    view.Apply({sequence, 1, change});
  }
  for (const JobState state : {JobState::kRegistering, JobState::kRunning, JobState::kStopping}) {
    EXPECT_EQ(WaitIn(state, AwaitedTasks(table)), WaitIn(state, AwaitedTasks(view)));
  }
  EXPECT_EQ(DescribeWait(*WaitIn(JobState::kRunning, AwaitedTasks(view))),
            "2 of 3 tasks run; awaited: worker:0, worker:1");
}

}  // namespace
}  // namespace tony::core
