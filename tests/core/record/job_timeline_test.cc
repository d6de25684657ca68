// Phases of tasks over time, and the limit of what is kept.
#include "core/record/job_timeline.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace tony::core {
namespace {

/// Applies events one after another, each with its own time.
class Story {
 public:
  explicit Story(int workers) {
    JobSubmitted submitted;
    submitted.types = {{"worker", workers, true}};
    At(1000, submitted);
  }
  Story& At(int64_t millis, JobEventBody body) {
    timeline.Apply({++sequence_, millis, std::move(body)});
    return *this;
  }
  Story& Task(int64_t millis, TaskState state, int attempt) {
    TaskChanged change;
    change.task = {"worker", 0};
    change.state = state;
    change.attempt = attempt;
    return At(millis, change);
  }

  JobTimeline timeline;

 private:
  int64_t sequence_ = 0;
};

std::string Text(const JobTimeline::Span& span) {
  return absl::StrCat(span.task.ToString(), " ", PhaseName(span.phase), " ", span.begin_millis, "-",
                      span.end_millis, " #", span.attempt);
}

std::string Text(const JobTimeline& timeline) {
  std::string text;
  for (const auto& span : timeline.closed) absl::StrAppend(&text, Text(span), "\n");
  for (const auto& [task, span] : timeline.open) absl::StrAppend(&text, Text(span), "\n");
  return text;
}

TEST(JobTimeline, PhasesFollowEachOther) {
  Story story(1);
  story.Task(2000, TaskState::kStarting, 0)
      .Task(3000, TaskState::kReady, 0)
      .Task(4000, TaskState::kRunning, 1)
      .Task(4500, TaskState::kRunning, 1)
      .Task(6000, TaskState::kFailed, 1);
  EpochOpened epoch;
  epoch.epoch = 1;
  epoch.cause = "worker:0 exited with code 1";
  story.At(6100, epoch).Task(7000, TaskState::kReady, 1).Task(7500, TaskState::kRunning, 2);
  EXPECT_EQ(Text(story.timeline),
            "worker:0 queued 1000-2000 #0\n"
            "worker:0 localizing 2000-3000 #0\n"
            "worker:0 barrier 3000-4000 #0\n"
            "worker:0 running 4000-6000 #1\n"
            "worker:0 gone 6000-7000 #1\n"
            "worker:0 barrier 7000-7500 #1\n"
            "worker:0 running 7500-0 #2\n");
  ASSERT_EQ(story.timeline.ends.size(), 1U);
  EXPECT_EQ(story.timeline.ends[0].state, TaskState::kFailed);
  ASSERT_EQ(story.timeline.restarts.size(), 1U);
  EXPECT_EQ(story.timeline.restarts[0].millis, 6100);
  EXPECT_EQ(story.timeline.begin_millis, 1000);
}

TEST(JobTimeline, ARegistrationTellsWhenTheExecutorAttached) {
  Story story(1);
  TaskChanged change{.task = {"worker", 0}, .state = TaskState::kStarting, .attempt = 1};
  story.At(2000, change);
  change.state = TaskState::kReady;
  change.registering_millis = 400;
  story.At(3000, change).Task(4000, TaskState::kRunning, 1);
  // Its container is kept: the executor is there already.
  change.state = TaskState::kStarting;
  change.attempt = 2;
  change.containment = "cgroup";
  change.registering_millis = 0;
  story.At(5000, change).Task(5100, TaskState::kReady, 2);
  EXPECT_EQ(Text(story.timeline),
            "worker:0 queued 1000-2000 #0\n"
            "worker:0 localizing 2000-2600 #1\n"
            "worker:0 registering 2600-3000 #1\n"
            "worker:0 barrier 3000-4000 #1\n"
            "worker:0 running 4000-5000 #1\n"
            "worker:0 registering 5000-5100 #2\n"
            "worker:0 barrier 5100-0 #2\n");
}

TEST(JobTimeline, AnExecutorCannotAttachBeforeItsContainerIsThere) {
  Story story(1);
  TaskChanged change{.task = {"worker", 0}, .state = TaskState::kStarting, .attempt = 1};
  story.At(2000, change);
  change.state = TaskState::kReady;
  change.registering_millis = 100'000;
  story.At(3000, change);
  EXPECT_EQ(Text(story.timeline),
            "worker:0 queued 1000-2000 #0\n"
            "worker:0 registering 2000-3000 #1\n"
            "worker:0 barrier 3000-0 #1\n");
}

TaskMeasured Stepped(int64_t first_step_millis, int attempt) {
  TaskMeasured measured{.task = {"worker", 0}, .attempt = attempt};
  measured.usage.progress = Progress{.step = 1, .first_step_millis = first_step_millis};
  return measured;
}

TEST(JobTimeline, TheFirstStepOfEachRunIsKeptOnce) {
  Story story(1);
  story.timeline.Measure(Stepped(1500, 1), 1600);  // nothing runs
  story.Task(2000, TaskState::kRunning, 1);
  story.timeline.Measure(Stepped(0, 1), 2100);  // it has named none
  story.timeline.Measure(Stepped(2500, 1), 2600);
  story.timeline.Measure(Stepped(2503, 1), 3600);  // the message took longer
  story.At(4000, Stepped(2503, 1)).Task(4000, TaskState::kFailed, 1);
  story.Task(5000, TaskState::kRunning, 2);
  story.timeline.Measure(Stepped(2503, 1), 5100);                         // of the run before
  story.At(6000, Stepped(4900, 2)).Task(6000, TaskState::kSucceeded, 2);  // heard before the start
  ASSERT_EQ(story.timeline.first_steps.size(), 2U);
  EXPECT_EQ(story.timeline.first_steps[0].millis, 2500);
  EXPECT_EQ(story.timeline.first_steps[0].attempt, 1);
  EXPECT_EQ(story.timeline.first_steps[1].millis, 5000);
  EXPECT_EQ(story.timeline.first_steps[1].attempt, 2);
}

TEST(JobTimeline, AClockThatIsAnHourWrongIsNotBelieved) {
  constexpr int64_t kHour = 3'600'000;
  for (const int64_t skew : {kHour, -kHour}) {
    Story story(1);
    story.Task(2 * kHour, TaskState::kRunning, 1);
    story.At(2 * kHour + 60'000, Stepped(2 * kHour + 10'000 + skew, 1));
    EXPECT_TRUE(story.timeline.first_steps.empty()) << skew;
  }
}

TEST(JobTimeline, NothingLastsLongerThanTheJob) {
  Story story(3);
  story.Task(2000, TaskState::kRunning, 1).At(5000, JobEnded{});
  EXPECT_TRUE(story.timeline.open.empty());
  EXPECT_EQ(story.timeline.closed.size(), 4U);
  EXPECT_EQ(story.timeline.closed.back().end_millis, 5000);
}

TEST(JobTimeline, AnEventCountsOnce) {
  JobTimeline timeline;
  JobSubmitted submitted;
  submitted.types = {{"worker", 1, true}};
  timeline.Apply({1, 1000, submitted});
  timeline.Apply({1, 9000, submitted});
  EXPECT_EQ(Text(timeline), "worker:0 queued 1000-0 #0\n");
}

TEST(JobTimeline, AMonthOfRestartsIsBounded) {
  Story story(1);
  for (int run = 1; run <= 50'000; ++run) {
    story.Task(run * 100, TaskState::kRunning, run);
    story.timeline.Measure(Stepped(run * 100 + 10, run), run * 100 + 20);
    story.Task(run * 100 + 50, TaskState::kFailed, run);
    EpochOpened epoch;
    epoch.epoch = run;
    story.At(run * 100 + 60, epoch);
  }
  EXPECT_EQ(story.timeline.closed.size(), JobTimeline::kMostSpans);
  EXPECT_EQ(story.timeline.ends.size(), JobTimeline::kMostEnds);
  EXPECT_EQ(story.timeline.first_steps.size(), JobTimeline::kMostFirstSteps);
  EXPECT_EQ(story.timeline.restarts.size(), JobTimeline::kMostRestarts);
  EXPECT_GT(story.timeline.dropped, 30'000);
  EXPECT_EQ(story.timeline.closed.back().attempt, 50'000);
}

}  // namespace
}  // namespace tony::core
