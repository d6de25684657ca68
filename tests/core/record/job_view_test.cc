// A job as folded from its events, whatever comes twice or names nobody.
#include "core/record/job_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::core {
namespace {

using ::testing::ElementsAre;

class JobViewTest : public testing::Test {
 protected:
  JobViewTest() {
    JobSubmitted submitted;
    submitted.job_id = "job-7";
    submitted.types = {{"ps", 1}, {"worker", 2}};
    Apply(std::move(submitted));
  }

  void Apply(JobEventBody body) {
    ++sequence_;
    view_.Apply({sequence_, 1000 * sequence_, std::move(body)});
  }

  void Change(const std::string& type, int index, TaskState state) {
    TaskChanged change;
    change.task = {type, index};
    change.state = state;
    Apply(std::move(change));
  }

  JobView view_;
  int64_t sequence_ = 0;
};

TEST_F(JobViewTest, TasksStandInTheOrderOfTypesFromTheStart) {
  std::vector<std::string> names;
  for (const JobView::Task& task : view_.tasks) names.push_back(task.last.task.ToString());
  EXPECT_THAT(names, ElementsAre("ps:0", "worker:0", "worker:1"));
  EXPECT_EQ(view_.submitted_millis, 1000);
  EXPECT_EQ(view_.state, JobState::kNew);
}

TEST_F(JobViewTest, EachTaskHasItsNewestChange) {
  Change("worker", 1, TaskState::kStarting);
  Change("worker", 1, TaskState::kReady);
  Change("ps", 0, TaskState::kStarting);
  EXPECT_EQ(view_.FindTask({"worker", 1})->last.state, TaskState::kReady);
  EXPECT_EQ(view_.FindTask({"worker", 0})->last.state, TaskState::kNew);
  EXPECT_EQ(view_.FindTask({"ps", 0})->last.state, TaskState::kStarting);
}

TEST_F(JobViewTest, NamesOfNobodyChangeNothing) {
  const std::vector<TaskId> strangers = {
      {"worker", 2}, {"worker", -1}, {"ps", 1}, {"chief", 0}, {"", 0}};
  for (const TaskId& id : strangers) {
    EXPECT_EQ(view_.FindTask(id), nullptr) << id.ToString();
    Change(id.type, id.index, TaskState::kFailed);
    Apply(TaskMeasured{id, {}});
  }
  for (const JobView::Task& task : view_.tasks) {
    EXPECT_EQ(task.last.state, TaskState::kNew);
    EXPECT_FALSE(task.usage);
  }
}

TEST_F(JobViewTest, AWaitLastsUntilTheStateChanges) {
  Apply(JobWaiting{"memory is short", {"worker:0"}, "the end of another job"});
  Apply(JobWaiting{"memory is short", {"worker:1"}, "the end of another job"});
  ASSERT_TRUE(view_.waiting);
  EXPECT_THAT(view_.waiting->missing, ElementsAre("worker:1"));
  EXPECT_EQ(view_.waiting_since_millis, 2000) << "the same wait goes on";
  Apply(JobWaiting{"GPUs are short", {}, ""});
  EXPECT_EQ(view_.waiting_since_millis, 4000);
  Apply(JobStateChanged{JobState::kRegistering, 0, ""});
  EXPECT_FALSE(view_.waiting);
  EXPECT_EQ(view_.state_since_millis, 5000);
}

TEST_F(JobViewTest, ANewEpochForgetsWhatBelongedToTheOldProcesses) {
  Apply(VisualizationReady{{"worker", 0}, "http://a:6006"});
  TaskUsage usage;
  usage.processes = 4;
  Apply(TaskMeasured{{"worker", 0}, usage});
  EXPECT_EQ(view_.FindTask({"worker", 0})->usage, usage);
  EXPECT_EQ(view_.visualization->url, "http://a:6006");
  Apply(EpochOpened{1, "worker:1 was lost", TaskId{"worker", 1}, 0});
  EXPECT_EQ(view_.epoch, 1);
  EXPECT_FALSE(view_.visualization);
  EXPECT_FALSE(view_.FindTask({"worker", 0})->usage);
}

TEST_F(JobViewTest, EarlierAttemptsKeepTheirReasons) {
  Apply(JobStateChanged{JobState::kRunning, 0, ""});
  Apply(JobNote{"it runs"});
  Apply(EpochOpened{1, "worker:1 exited with code 1", TaskId{"worker", 1}, 1, 3, false,
                    "RuntimeError: bad batch 17"});
  Apply(EpochOpened{2, "worker:0 was lost", TaskId{"worker", 0}, 1, 2, true});
  ASSERT_EQ(view_.attempts.size(), 2u);
  EXPECT_EQ(view_.attempts[0].Describe(),
            "attempt 1, 2.0s: worker:1 exited with code 1, RuntimeError: bad batch 17");
  // Its programs were never started.
  EXPECT_EQ(view_.attempts[1].Describe(), "attempt 2: worker:0 was lost");

  for (int epoch = 3; epoch < 200; ++epoch) Apply(EpochOpened{epoch, "it failed"});
  EXPECT_EQ(view_.attempts.size(), JobView::kMostAttempts);
  EXPECT_EQ(view_.attempts.back().number, 199);
}

TEST_F(JobViewTest, VisualizationLastsAsLongAsSomethingListens) {
  const VisualizationReady page{{"worker", 0}, "http://a:6006"};
  const VisualizationReady gone{{"worker", 0}, ""};
  Apply(page);
  Apply(VisualizationReady{{"worker", 1}, ""});
  EXPECT_EQ(view_.visualization, page);
  Apply(gone);
  EXPECT_FALSE(view_.visualization);

  Apply(page);
  Apply(TaskChanged{.task = {"worker", 1}, .state = TaskState::kSucceeded});
  Apply(TaskChanged{.task = {"worker", 0}, .state = TaskState::kRunning});
  EXPECT_EQ(view_.visualization, page);
  Apply(TaskChanged{.task = {"worker", 0}, .state = TaskState::kFailed});
  EXPECT_FALSE(view_.visualization);

  Apply(page);
  Apply(JobEnded{});
  EXPECT_FALSE(view_.visualization);
}

TEST_F(JobViewTest, TheNewestMeasurementIsOfTheRunThatGoesOn) {
  const TaskId id{"worker", 0};
  const auto change = [&](TaskState state, int attempt) {
    TaskChanged changed;
    changed.task = id;
    changed.state = state;
    changed.attempt = attempt;
    Apply(changed);
  };
  TaskUsage usage;
  const auto measure = [&](int processes, int attempt) {
    usage.processes = processes;
    view_.Measure({id, usage, attempt});
  };
  measure(1, 0);
  EXPECT_FALSE(view_.FindTask(id)->usage) << "it does not run";
  change(TaskState::kRunning, 1);
  const int64_t sequence = view_.last_sequence;
  measure(2, 1);
  EXPECT_EQ(view_.FindTask(id)->usage->processes, 2);
  EXPECT_EQ(view_.last_sequence, sequence) << "it is no event";
  measure(3, 2);
  EXPECT_EQ(view_.FindTask(id)->usage->processes, 2) << "it is of another run";
  usage.processes = 4;
  Apply(TaskMeasured{id, usage, 1});
  change(TaskState::kFailed, 1);
  measure(5, 1);
  EXPECT_EQ(view_.FindTask(id)->usage->processes, 4) << "late, of a run that is over";
  change(TaskState::kStarting, 2);
  EXPECT_FALSE(view_.FindTask(id)->usage);
  view_.Measure({{"nobody", 7}, usage, 1});
}

TEST_F(JobViewTest, NotesAreKept) {
  Apply(JobNote{"one"});
  Apply(JobNote{"two"});
  EXPECT_THAT(view_.notes, ElementsAre("one", "two"));
}

TEST_F(JobViewTest, TheLastEventBringsTheVerdict) {
  Apply(JobWaiting{"something", {}, ""});
  Verdict verdict;
  verdict.outcome = Outcome::kKilled;
  verdict.sentence = "Stopped by a person";
  Apply(JobEnded{verdict});
  EXPECT_EQ(view_.state, JobState::kEnded);
  EXPECT_EQ(view_.verdict, verdict);
  EXPECT_EQ(view_.ended_millis, 3000);
  EXPECT_FALSE(view_.waiting);
}

TEST_F(JobViewTest, AnEventThatWasSeenChangesNothing) {
  Apply(JobNote{"one"});
  view_.Apply({2, 2000, JobNote{"one, again"}});
  view_.Apply({1, 1000, JobSubmitted{}});
  EXPECT_THAT(view_.notes, ElementsAre("one"));
  EXPECT_EQ(view_.tasks.size(), 3u);
  EXPECT_EQ(view_.last_sequence, 2);
}

}  // namespace
}  // namespace tony::core
