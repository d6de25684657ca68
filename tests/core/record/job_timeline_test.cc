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
    story.Task(run * 100, TaskState::kRunning, run).Task(run * 100 + 50, TaskState::kFailed, run);
    EpochOpened epoch;
    epoch.epoch = run;
    story.At(run * 100 + 60, epoch);
  }
  EXPECT_EQ(story.timeline.closed.size(), JobTimeline::kMostSpans);
  EXPECT_EQ(story.timeline.ends.size(), JobTimeline::kMostEnds);
  EXPECT_EQ(story.timeline.restarts.size(), JobTimeline::kMostRestarts);
  EXPECT_GT(story.timeline.dropped, 30'000);
  EXPECT_EQ(story.timeline.closed.back().attempt, 50'000);
}

}  // namespace
}  // namespace tony::core
