// Made jobs with known faults: each heuristic names its own fault and nothing else, and a well-set
// job gets no advice.
#include "core/advice/advise.h"

#include <cmath>
#include <functional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/advice/job_profile.h"

namespace tony::core {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr int64_t kMebibyte = 1 << 20;

std::set<std::string> Names(const JobAdvice& advice) {
  std::set<std::string> names;
  for (const Advice& each : advice.advice) names.insert(each.heuristic);
  return names;
}

std::vector<AdviceLine> Lines(const JobAdvice& advice) {
  std::vector<AdviceLine> lines;
  for (const Advice& each : advice.advice) {
    lines.insert(lines.end(), each.lines.begin(), each.lines.end());
  }
  return lines;
}

/// A worker that uses what it has: 3.4 of 4 cores, 3,300 of 4,096 MiB, ten steps a second.
void UseWell(const TaskId& task, int64_t second, TaskUsage& growth) {
  const double noise = 0.05 * std::sin(static_cast<double>(second) + task.index);
  growth.cpu_seconds = 3.4 + noise;
  growth.memory_bytes = 3'300 * kMebibyte;
  growth.max_memory_bytes = growth.memory_bytes;
  growth.progress = Progress{.step = 10 * second, .steps_per_second = 10 + noise};
  growth.progress->first_step_millis = JobProfile::kSubmitted + 15'000;
}

JobProfile WellSet(int workers = 4) {
  JobProfile profile;
  profile.AddType("worker", workers, 4096, 4);
  profile.use = UseWell;
  return profile;
}

/// A well-set job with one change to what its tasks use.
JobProfile With(std::function<void(const TaskId&, int64_t, TaskUsage&)> change, int workers = 4) {
  JobProfile profile = WellSet(workers);
  profile.use = [change = std::move(change)](const TaskId& task, int64_t second,
                                             TaskUsage& growth) {
    UseWell(task, second, growth);
    change(task, second, growth);
  };
  return profile;
}

void UseGpu(TaskUsage& growth, double percent, int64_t memory) {
  growth.gpu_utilization = percent;
  growth.gpu_memory_bytes = memory;
}

JobProfile WithGpus(double percent,
                    std::function<void(const TaskId&, int64_t, TaskUsage&)> change) {
  JobProfile profile =
      With([percent, change = std::move(change)](const TaskId& task, int64_t second, auto& growth) {
        UseGpu(growth, percent + second % 2, second < 5 ? 0 : 8'000 * kMebibyte);
        change(task, second, growth);
      });
  profile.observed.view.job.types[0].gpus = 1;
  return profile;
}

JobProfile WithAttempts(JobProfile profile, std::vector<std::string> errors) {
  for (size_t i = 0; i < errors.size(); ++i) {
    JobView::Attempt attempt;
    attempt.number = static_cast<int>(i) + 1;
    attempt.ended_millis = JobProfile::kSubmitted + 1000 * static_cast<int64_t>(100 * (i + 1));
    attempt.error = errors[i];
    profile.observed.view.attempts.push_back(attempt);
  }
  return profile;
}

struct Case {
  std::string name;
  JobProfile profile;
  std::set<std::string> advice;
};

void PrintTo(const Case& example, std::ostream* out) { *out << example.name; }

void Add(std::vector<Case>& cases, std::string name, JobProfile profile,
         std::set<std::string> advice) {
  cases.push_back({std::move(name), std::move(profile), std::move(advice)});
}

using Cases = std::vector<Case>;

void AddWellSetCases(Cases& cases) {
  const auto nothing = [](const TaskId&, int64_t, TaskUsage&) {};
  Add(cases, "WellSet", WellSet(), {});
  Add(cases, "WellSetWithGpus", WithGpus(85, nothing), {});
}

void AddMemoryCases(Cases& cases) {
  Add(cases, "OverAskedMemory",
      With([](auto&, auto, TaskUsage& growth) { growth.memory_bytes = 900 * kMebibyte; }),
      {"memory-unused"});
  Add(cases, "OnePeakNeedsTheMemory",
      With([](const TaskId& task, int64_t second, TaskUsage& growth) {
        const bool peak = task.index == 2 && second == 700;
        growth.memory_bytes = (peak ? 3'400 : 900) * kMebibyte;
      }),
      {});
  Add(cases, "TightMemory", With([](const TaskId& task, auto, TaskUsage& growth) {
        if (task.index == 1) growth.memory_bytes = 3'950 * kMebibyte;
      }),
      {"memory-tight"});
  JobProfile out_of_memory = WellSet();
  out_of_memory.seconds = 30;
  out_of_memory.observed.view.tasks[0].last.exit = TaskExit{.cause = TaskExit::Cause::kOutOfMemory};
  Add(cases, "OutOfMemory", out_of_memory, {"memory-tight"});
}

void AddCoreCases(Cases& cases) {
  Add(cases, "CoresUnused", With([](auto&, auto, TaskUsage& growth) { growth.cpu_seconds = 0.7; }),
      {"cores-unused"});
  Add(cases, "CoresAreNeededNowAndThen", With([](auto&, int64_t second, TaskUsage& growth) {
        growth.cpu_seconds = second % 300 < 60 ? 3.5 : 0.5;
      }),
      {});
  Add(cases, "Throttled", With([](auto&, auto, TaskUsage& growth) {
        growth.cpu_seconds = 3.95;
        growth.group = {.periods = 10, .throttled_periods = 4};
      }),
      {"cores-short"});
  Add(cases, "WaitsForProcessors", With([](auto&, auto, TaskUsage& growth) {
        growth.cpu_seconds = 3.9;
        growth.group = {.cpu_wait_seconds = 0.5};
      }),
      {"cores-short"});
}

void AddInputCases(Cases& cases) {
  Add(cases, "GpusUnused",
      WithGpus(0, [](auto&, auto, TaskUsage& growth) { UseGpu(growth, 0, 3 * kMebibyte); }),
      {"gpus-unused"});
  Add(cases, "InputBoundByCores",
      WithGpus(35, [](auto&, auto, TaskUsage& growth) { growth.cpu_seconds = 3.95; }),
      {"input-bound"});
  Add(cases, "InputBoundByStorage",
      WithGpus(20, [](auto&, int64_t, TaskUsage& growth) { growth.read_bytes = 100 * kMebibyte; }),
      {"input-bound"});
  Add(cases, "StarvedInputWithoutGpus", With([](auto&, int64_t second, TaskUsage& growth) {
        growth.cpu_seconds = second % 60 < 6 ? 3 : 0.4;
        growth.read_bytes = 80 * kMebibyte;
      }),
      {"input-bound"});
}

void AddPeerCases(Cases& cases) {
  Add(cases, "ExchangeBound", With([](auto&, auto, TaskUsage& growth) {
        growth.collective = CollectiveUsage{.negotiation_seconds = 0.05, .operation_seconds = 0.4};
      }),
      {"exchange-bound"});
  Add(cases, "SlowWorker", With([](const TaskId& task, int64_t second, TaskUsage& growth) {
        if (task.index == 3) growth.progress = Progress{.step = 6 * second, .steps_per_second = 6};
      }),
      {"straggler"});
  Add(cases, "WaitedForWorker", With([](const TaskId& task, auto, TaskUsage& growth) {
        growth.collective = CollectiveUsage{};
        if (task.index == 1) growth.collective->waited_for_seconds = 0.2;
      }),
      {"straggler"});
  Add(cases, "WaitedForAfterALongStart",
      With([](const TaskId& task, int64_t second, TaskUsage& growth) {
        growth.progress->first_step_millis = JobProfile::kSubmitted + 710'000;
        growth.collective = CollectiveUsage{};
        if (task.index == 1 && second > 700) growth.collective->waited_for_seconds = 0.2;
      }),
      {"straggler", "start-up"});
  Add(cases, "SlowForAWhileOnly", With([](const TaskId& task, int64_t second, TaskUsage& growth) {
        if (task.index == 3 && second < 500) growth.progress->steps_per_second = 5;
      }),
      {});
  JobProfile busy_servers = With([](const TaskId& task, auto, TaskUsage& growth) {
    growth.cpu_seconds = task.type == "ps" ? 1.95 : 1.9;
    if (task.type == "ps") growth.memory_bytes = 1'000 * kMebibyte;
    if (task.type == "ps") growth.progress.reset();
  });
  busy_servers.AddType("ps", 2, 1200, 2);
  Add(cases, "BusyParameterServers", busy_servers, {"parameter-servers", "cores-unused"});
}

void AddHistoryCases(Cases& cases) {
  JobProfile late = WellSet();
  late.start_seconds = 500;
  late.use = [](const TaskId& task, int64_t second, TaskUsage& growth) {
    UseWell(task, second, growth);
    growth.progress->first_step_millis = JobProfile::kSubmitted + 520'000;
  };
  Add(cases, "LongStart", late, {"start-up"});
  // An earlier version has recorded the clock of a host that is an hour ahead, or behind.
  for (const int64_t hour : {3'600'000, -3'600'000}) {
    JobProfile skewed = With(
        [hour](auto&, auto, TaskUsage& growth) { growth.progress->first_step_millis += hour; });
    Add(cases, hour > 0 ? "FirstStepByAClockAhead" : "FirstStepByAClockBehind", skewed, {});
  }
  const auto repeats = [](auto&, int64_t second, TaskUsage& growth) {
    // A restart after 300 seconds goes on where the program was after 20.
    growth.progress->step = 10 * (second < 300 ? second : second - 280);
  };
  JobProfile rare = WithAttempts(With(repeats), {"Lost"});
  // Half a second after the last step before the restart, so both lie in one second of a chart.
  rare.observed.view.attempts[0].ended_millis = JobProfile::kSubmitted + 309'500;
  Add(cases, "RareCheckpoints", rare, {"lost-work"});
  JobProfile often = WithAttempts(WellSet(), {"Lost"});
  Add(cases, "RestartThatLostNothing", often, {});
  Add(cases, "SameFailure", WithAttempts(WellSet(), {"ValueError: x", "ValueError: x"}),
      {"same-failure"});
  Add(cases, "DifferentFailures", WithAttempts(WellSet(), {"ValueError: x", "KeyError: y"}), {});
  JobProfile lost = WellSet();
  lost.observed.view.verdict = Verdict{Outcome::kFailed, Reason::kTaskLost, "worker:1 was lost"};
  Add(cases, "LostWithoutRetry", lost, {"no-retry"});
}

/// A job that has failed twice and writes a checkpoint each `interval` seconds, which takes `cost`.
JobProfile WithCheckpoints(int interval, double cost) {
  JobProfile profile = With([=](auto&, int64_t second, TaskUsage& growth) {
    if (second < interval) return;
    const int64_t count = second / interval;
    growth.progress->checkpoint = ProgressCheckpoint{
        "/checkpoints/1", JobProfile::kSubmitted + 10'000 + 1000 * interval * count, cost, count};
  });
  return WithAttempts(std::move(profile), {"Lost", "Lost again"});
}

void AddCheckpointCases(Cases& cases) {
  // 605 s between failures: √(2 · 4 s · 605 s) - 4 s = 66 s.
  Add(cases, "CheckpointsTooRare", WithCheckpoints(400, 4), {"checkpoint-interval"});
  Add(cases, "CheckpointsTooOften", WithCheckpoints(10, 4), {"checkpoint-interval"});
  Add(cases, "CheckpointsWhenTheyPay", WithCheckpoints(70, 4), {});
  // An earlier version has recorded the clock of a host that is an hour ahead, or behind.
  for (const int64_t hour : {3'600'000, -3'600'000}) {
    JobProfile skewed = WithCheckpoints(70, 4);
    skewed.use = [hour, use = skewed.use](const TaskId& task, int64_t second, TaskUsage& growth) {
      use(task, second, growth);
      if (growth.progress->checkpoint) growth.progress->checkpoint->millis += hour;
    };
    Add(cases, hour > 0 ? "CheckpointsByAClockAhead" : "CheckpointsByAClockBehind", skewed, {});
  }
  JobProfile repeats = WithCheckpoints(400, 4);
  repeats.use = [use = repeats.use](const TaskId& task, int64_t second, TaskUsage& growth) {
    use(task, second, growth);
    growth.progress->step = 10 * (second < 100 ? second : second - 90);
  };
  Add(cases, "RareCheckpointsWithLostWork", repeats, {"checkpoint-interval"});
  JobProfile fine = WithCheckpoints(400, 4);
  fine.observed.view.attempts.clear();
  Add(cases, "RareCheckpointsOfAJobThatNeverFails", fine, {});
}

void AddLogCases(Cases& cases) {
  JobProfile dropped = WellSet();
  dropped.observed.view.notes = {
      "worker:1: the log a/stdout.log has reached its limit of 2048 MiB (tony.task.log.max-size, "
      "tony.application.log.max-size): its start and its end are kept"};
  Add(cases, "DroppedLogs", dropped, {"log-volume"});
  // One worker prints 2 MB/s all the time; another one the same in a burst of a minute.
  const auto prints = [](int64_t until) {
    return With([until](const TaskId& task, int64_t second, TaskUsage& growth) {
      growth.printed_bytes = task.index == 1 && second < until ? 2'000'000 : 100'000;
    });
  };
  Add(cases, "MuchPrinted", prints(1'000'000), {"log-volume"});
  Add(cases, "MuchPrintedAtTheStart", prints(60), {});
  JobProfile other = WellSet();
  other.observed.view.notes = {"output is being lost: No space left on device",
                               "it has reached its limit of many MiB (tony.task.log.max-size)"};
  Add(cases, "OtherNotes", other, {});
}

Cases AllCases() {
  Cases cases;
  AddWellSetCases(cases);
  AddMemoryCases(cases);
  AddCoreCases(cases);
  AddInputCases(cases);
  AddPeerCases(cases);
  AddHistoryCases(cases);
  AddCheckpointCases(cases);
  AddLogCases(cases);
  return cases;
}

class AdviseTest : public testing::TestWithParam<Case> {};

TEST_P(AdviseTest, NamesTheFaultAndNothingElse) {
  const JobAdvice advice = GetParam().profile.Advise();
  std::string all;
  for (const Advice& each : advice.advice) {
    all += each.heuristic + ": " + each.sentence + " (" + each.evidence + ")\n";
    EXPECT_FALSE(each.sentence.empty() || each.evidence.empty() || each.formula.empty());
    EXPECT_GT(each.tasks, 0);
  }
  EXPECT_EQ(Names(advice), GetParam().advice) << all;
}

INSTANTIATE_TEST_SUITE_P(Profiles, AdviseTest, testing::ValuesIn(AllCases()),
                         [](const auto& info) { return info.param.name; });

TEST(AdviseJobTest, ProposesValues) {
  const JobAdvice memory =
      With([](auto&, auto, TaskUsage& growth) { growth.memory_bytes = 900 * kMebibyte; }).Advise();
  EXPECT_THAT(Lines(memory), Contains(AdviceLine{"tony.worker.memory", "1280m"}));
  EXPECT_EQ(memory.advice[0].severity, AdviceSeverity::kCritical);
  EXPECT_EQ(memory.advice[0].score(), 16);
  EXPECT_THAT(memory.advice[0].evidence, HasSubstr("900 MiB"));
  EXPECT_EQ(AdviceXml(memory.advice),
            "<property><name>tony.worker.memory</name><value>1280m</value></property>\n");
  const JobAdvice cores =
      With([](auto&, auto, TaskUsage& growth) { growth.cpu_seconds = 0.7; }).Advise();
  EXPECT_THAT(Lines(cores), Contains(AdviceLine{"tony.worker.vcores", "1"}));
}

TEST(AdviseJobTest, NamesTheSlowTaskAndItsHost) {
  const JobAdvice advice = With([](const TaskId& task, int64_t second, TaskUsage& growth) {
                             if (task.index == 3) {
                               growth.progress =
                                   Progress{.step = 4 * second, .steps_per_second = 4};
                             }
                           }).Advise();
  ASSERT_EQ(advice.advice.size(), 1);
  EXPECT_THAT(advice.advice[0].sentence, HasSubstr("worker:3 on host1 (1)"));
  EXPECT_EQ(advice.advice[0].severity, AdviceSeverity::kSevere);
}

TEST(AdviseJobTest, ComputesTheIntervalOfCheckpoints) {
  const JobAdvice advice = WithCheckpoints(400, 4).Advise();
  ASSERT_EQ(advice.advice.size(), 1);
  EXPECT_EQ(advice.advice[0].severity, AdviceSeverity::kSevere);
  EXPECT_THAT(advice.advice[0].sentence, HasSubstr("each 1m 05s instead of each 6m 40s"));
  EXPECT_THAT(advice.advice[0].evidence, HasSubstr("2 failures in 20m 10s"));
}

TEST(AdviseJobTest, ALogThatWasDroppedGetsRoom) {
  JobProfile profile = WellSet();
  profile.observed.view.notes = {
      "worker:1: the log a has reached its limit of 2048 MiB (tony.task.log.max-size, …)"};
  EXPECT_THAT(Lines(profile.Advise()), Contains(AdviceLine{"tony.task.log.max-size", "4096m"}));
}

TEST(AdviseJobTest, AShortRunIsNotJudged) {
  JobProfile profile =
      With([](auto&, auto, TaskUsage& growth) { growth.memory_bytes = 900 * kMebibyte; });
  profile.seconds = 200;
  const JobAdvice advice = profile.Advise();
  EXPECT_TRUE(advice.advice.empty());
  EXPECT_THAT(advice.reservation, HasSubstr("too short"));
  EXPECT_EQ(AdviceLineOf(advice), "");
  EXPECT_EQ(Names(profile.Advise({.least_run_millis = 60'000})),
            std::set<std::string>{"memory-unused"});
}

TEST(AdviseJobTest, AFailedJobSaysNothingAboutWhatItNeeds) {
  JobProfile profile =
      With([](auto&, auto, TaskUsage& growth) { growth.memory_bytes = 900 * kMebibyte; });
  profile.observed.view.verdict = Verdict{Outcome::kFailed, Reason::kTaskFailed, "it failed"};
  EXPECT_TRUE(profile.Advise().advice.empty());
}

TEST(AdviseJobTest, AJobThatHasNotRunGetsASentence) {
  JobProfile profile = WellSet();
  profile.seconds = 0;
  EXPECT_THAT(profile.Advise().reservation, HasSubstr("nothing to judge"));
}

TEST(AdviseJobTest, OneLineForTheEnd) {
  JobProfile profile = With([](auto&, auto, TaskUsage& growth) {
    growth.memory_bytes = 900 * kMebibyte;
    growth.cpu_seconds = 0.3;
  });
  const std::string line = AdviceLineOf(profile.Advise());
  EXPECT_THAT(line, testing::StartsWith("Advice: Ask for 1280 MiB"));
  EXPECT_THAT(line, HasSubstr("and 1 more: see tony advise"));
}

}  // namespace
}  // namespace tony::core
