// Golden texts of a job's table and verdict.
#include "client/show/job_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_split.h"
#include "client/cli/terminal.h"
#include "tests/client/sample_events.h"
#include "tests/client/show/golden.h"

namespace tony::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

core::ObservedJob Fold(const SampleEvents& events) {
  core::ObservedJob job;
  for (const core::JobEvent& event : events.events()) job.Apply(event);
  return job;
}

TEST(JobTable, ShowsEachTask) {
  const SampleEvents events = RunningJob();
  ExpectGolden("table_running",
               RenderJobTable(Fold(events), events.now() + 63'000, Screen{100, 20, false}));
}

TEST(JobTable, AStepMakesAColumn) {
  const SampleEvents events = RunningJob();
  core::ObservedJob job = Fold(events);
  const auto table = [&] { return RenderJobTable(job, events.now(), Screen{100, 20, false}); };
  EXPECT_THAT(table(), Not(HasSubstr("STEP")));
  core::TaskUsage usage;
  usage.progress = core::Progress{.step = 120, .steps_per_second = 2.1};
  job.view.Measure({{"worker", 1}, usage, 1});
  const std::vector<std::string> lines = absl::StrSplit(table(), '\n');
  EXPECT_THAT(lines[1], testing::EndsWith("TIME     STEP"));
  for (const std::string& line : lines) {
    EXPECT_EQ(line.find("120 (2.1/s)") != std::string::npos, line.starts_with("worker:1")) << line;
  }
}

TEST(JobTable, ColoursOnlyTheStates) {
  const SampleEvents events = RunningJob();
  const core::ObservedJob job = Fold(events);
  const std::string colored = RenderJobTable(job, events.now(), Screen{100, 20, true});
  ExpectGolden("table_colored", colored);
  EXPECT_NE(colored, RenderJobTable(job, events.now(), Screen{100, 20, false}));
}

TEST(JobTable, KeepsEveryLineWithinTheWidth) {
  const SampleEvents events = FailedJob();
  const core::ObservedJob job = Fold(events);
  for (int width : {10, 25, 40, 80}) {
    const std::vector<std::string> lines =
        absl::StrSplit(RenderJobTable(job, events.now(), Screen{width, 20, false}), '\n');
    for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), width) << line;
  }
  ExpectGolden("table_narrow_colored", RenderJobTable(job, events.now(), Screen{40, 20, true}));
}

/// Two hundred workers, five of which have failed, and parameter servers that have not started.
SampleEvents ManyTasks() {
  SampleEvents events;
  events.Submit({{"ps", 4}, {"worker", 200}});
  events.State(core::JobState::kRunning);
  for (int index = 0; index < 200; ++index) {
    const bool failed = index % 40 == 7;
    core::TaskChanged change =
        events.Task("worker", index, failed ? core::TaskState::kFailed : core::TaskState::kRunning);
    if (index == 150) change.host = "node7";
    if (failed) change.exit = NastyExit();
    events.Add(change, 1);
  }
  return events;
}

TEST(JobTable, FoldsTasksThatAreAlike) {
  const SampleEvents events = ManyTasks();
  ExpectGolden("table_folded", RenderJobTable(Fold(events), events.now(), Screen{80, 20, false}));
  ExpectGolden("table_folded_narrow",
               RenderJobTable(Fold(events), events.now(), Screen{20, 20, false}));
}

TEST(JobTable, ListsEachTaskWhereAllAreWanted) {
  const SampleEvents events = ManyTasks();
  Screen screen{80, 20, false};
  screen.all = true;
  const std::string text = RenderJobTable(Fold(events), events.now(), screen);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 1 + 204 + 1);
  EXPECT_THAT(text, HasSubstr("\nworker:199  RUNNING    1        127.0.0.1:20199  <0.1s\n"));
}

TEST(JobTable, CountsTasksThatAreTooDifferentForTheScreen) {
  const SampleEvents events = ManyTasks();
  ExpectGolden("table_counts", RenderJobTable(Fold(events), events.now(), Screen{80, 4, false}));
}

TEST(JobTable, HasTheNewestLinesOfTasksWhereThereIsRoom) {
  const SampleEvents events = RunningJob();
  const int64_t now = events.now() + 63'000;
  const std::vector<TaskLine> lines = {
      {{"chief", 0},
       "epoch 4 loss 0.0058 which is less than it was after any other epoch",
       now - 400},
      {{"worker", 1}, "Läuft 漢字 50%|████▌", now - 83'000},
      {{"worker", 2}, "from the future", now + 1000}};
  Screen screen{80, 20, false};
  ExpectGolden("table_lines", RenderJobTable(Fold(events), now, screen, lines));
  screen.width = 24;
  ExpectGolden("table_lines_narrow", RenderJobTable(Fold(events), now, screen, lines));
  screen = Screen{80, 20, false};
  screen.rows = 10;  // eight lines, the cursor's, and one
  EXPECT_THAT(RenderJobTable(Fold(events), now, screen, lines),
              ::testing::AllOf(HasSubstr("chief:0, 0.4s ago: epoch 4"), Not(HasSubstr("Läuft"))));
}

TEST(JobTable, SaysWhatIsWaitedFor) {
  SampleEvents events;
  events.Submit({{"worker", 12}});
  core::JobWaiting waiting{
      "4 of 12 tasks are not ready", {}, "tony.container.registration.timeout ends it"};
  for (int index = 0; index < 12; ++index)
    waiting.missing.push_back("worker:" + std::to_string(index));
  events.Add(waiting);
  const core::ObservedJob job = Fold(events);
  EXPECT_EQ(RenderWaiting(job.view, events.now() + 12'000),
            "Waiting for 12s: 4 of 12 tasks are not ready; awaited: worker:0, worker:1, worker:2, "
            "worker:3, "
            "worker:4, worker:5, worker:6, worker:7 and 4 more; "
            "tony.container.registration.timeout ends it");
  ExpectGolden("table_waiting", RenderJobTable(job, events.now() + 12'000, Screen{80, 20, false}));
}

TEST(JobTable, StopsTheClockWhenTheJobHasEnded) {
  const SampleEvents events = FailedJob();
  const core::ObservedJob job = Fold(events);
  EXPECT_EQ(RenderJobTable(job, events.now(), Screen{}),
            RenderJobTable(job, events.now() + 5'000'000, Screen{}));
  ExpectGolden("table_failed", RenderJobTable(job, events.now(), Screen{100, 20, false}));
}

TEST(JobTable, StartsTheClockAnewForANewAttempt) {
  SampleEvents events = RunningJob();
  core::ObservedJob job = Fold(events);
  EXPECT_GT(job.RunningMillis({"worker", 0}, events.now()), 0);
  events.AddTask("worker", 0, core::TaskState::kReady);
  job = Fold(events);
  EXPECT_EQ(job.RunningMillis({"worker", 0}, events.now()), -1);
  events.AddTask("worker", 0, core::TaskState::kRunning);
  job = Fold(events);
  EXPECT_EQ(job.RunningMillis({"worker", 0}, events.now() + 7), 7);
  EXPECT_EQ(job.RunningMillis({"nobody", 0}, events.now()), -1);
}

TEST(Verdict, ShowsTheGuiltyTaskAndItsHarmlessTail) {
  const std::string text = RenderVerdict(Fold(FailedJob()).view, Screen{});
  ExpectGolden("verdict_failed", text);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("owned")));
}

TEST(Verdict, IsShortForASuccess) {
  SampleEvents events = RunningJob();
  EXPECT_EQ(RenderVerdict(Fold(events).view, Screen{}), "");
  events.End(core::Outcome::kSucceeded, core::Reason::kTasksSucceeded,
             "All tracked tasks ended with code 0.");
  EXPECT_EQ(RenderVerdict(Fold(events).view, Screen{}),
            "SUCCEEDED (TASKS_SUCCEEDED): All tracked tasks ended with code 0.\n");
}

}  // namespace
}  // namespace tony::client
