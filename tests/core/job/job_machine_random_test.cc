// Hundreds of jobs in a world where anything may happen at any time. Other worlds than the usual
// ones come with --gtest_shuffle --gtest_random_seed=N.
#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "absl/strings/str_cat.h"
#include "core/schedule/stage_graph.h"
#include "tests/core/job/job_world.h"

namespace tony::core {
namespace {

constexpr int kInputs = 1'000'000;
constexpr int kStormySteps = 1'500;  ///< at most; then the world is calm
constexpr int kCalmSteps = 20'000;   ///< enough for a job to end once nothing breaks any more

/// Totals of a run over many seeds, to see that the world was neither too kind nor too cruel.
struct Tally {
  std::map<Reason, int> verdicts;
  int inputs = 0;
  int jobs = 0;
  int restarted_jobs = 0;
  int later_stages = 0;  ///< jobs that succeeded in several stages
  int starts = 0;
  int master_restarts = 0;
};

/// The seed of the first world: 1, but with another one of GoogleTest's.
uint64_t FirstSeed() {
  const int chosen = testing::UnitTest::GetInstance()->random_seed();
  return 1 + static_cast<uint64_t>(chosen) * 1'000'000;
}

void RunJob(uint64_t seed, Tally& tally) {
  JobWorld world(seed);
  for (int i = 0; i < kStormySteps && !world.over() && world.trouble().empty(); ++i)
    world.Step(false);
  for (int i = 0; i < kCalmSteps && !world.over() && world.trouble().empty(); ++i) world.Step(true);
  ASSERT_TRUE(world.trouble().empty()) << "seed " << seed << ": " << world.trouble();
  ASSERT_TRUE(world.over()) << "seed " << seed << ": the job is still "
                            << JobStateName(world.machine().state());
  // Words from the past find nobody any more.
  for (int i = 0; i < 20; ++i) world.Step(true);
  world.CheckEnd();
  ASSERT_TRUE(world.trouble().empty()) << "seed " << seed << ": " << world.trouble();
  ++tally.jobs;
  tally.inputs += world.inputs();
  tally.starts += world.auditor().starts();
  tally.master_restarts += world.restarts();
  if (world.machine().epoch() > 0) ++tally.restarted_jobs;
  ++tally.verdicts[world.machine().verdict()->reason];
  const JobDescription& job = world.machine().job();
  if (world.machine().verdict()->outcome == Outcome::kSucceeded &&
      StageGraph(job.types).stages().size() > 1) {
    ++tally.later_stages;
  }
}

TEST(JobMachineRandomTest, WhatMustAlwaysBeTrueIsTrue) {
  Tally tally;
  for (uint64_t seed = FirstSeed(); tally.inputs < kInputs; ++seed) {
    ASSERT_NO_FATAL_FAILURE(RunJob(seed, tally));
  }
  std::string verdicts;
  for (const auto& [reason, count] : tally.verdicts)
    absl::StrAppend(&verdicts, ReasonName(reason), "=", count, " ");
  RecordProperty("verdicts", verdicts);
  std::cout << tally.jobs << " jobs, " << tally.inputs << " inputs, " << tally.starts << " starts, "
            << tally.restarted_jobs << " restarted jobs, " << tally.later_stages
            << " successes in several stages, " << tally.master_restarts
            << " restarted ApplicationMasters: " << verdicts << "\n";
  for (Reason reason : {Reason::kTasksSucceeded, Reason::kSomeTasksFailed, Reason::kTaskFailed,
                        Reason::kTaskNotStarted, Reason::kTaskLost, Reason::kHeartbeatLost,
                        Reason::kRegistrationTimeout, Reason::kAllocationTimeout,
                        Reason::kApplicationTimeout, Reason::kDependencyTimeout, Reason::kNeverFits,
                        Reason::kBackendFailed, Reason::kKilledByUser}) {
    EXPECT_GT(tally.verdicts[reason], 0) << "never seen: " << ReasonName(reason);
  }
  EXPECT_GT(tally.restarted_jobs, tally.jobs / 10);
  EXPECT_GT(tally.master_restarts, tally.jobs / 10);
  EXPECT_GT(tally.starts, tally.jobs / 2);
  EXPECT_GT(tally.later_stages, tally.jobs / 20);
}

TEST(JobMachineRandomTest, NothingIsLostWithAnApplicationMaster) {
  int restarts = 0;
  for (uint64_t seed = FirstSeed(); seed < FirstSeed() + 1000; ++seed) {
    JobWorld world(seed, JobWorld::Mishaps::kMasters);
    for (int i = 0; i < kStormySteps && !world.over(); ++i) world.Step(false);
    for (int i = 0; i < kCalmSteps && !world.over(); ++i) world.Step(true);
    world.CheckEnd();
    ASSERT_TRUE(world.trouble().empty()) << "seed " << seed << ": " << world.trouble();
    ASSERT_TRUE(world.over()) << "seed " << seed;
    ASSERT_EQ(world.machine().verdict()->reason, Reason::kTasksSucceeded)
        << "seed " << seed << ": " << world.machine().verdict()->sentence << world.log();
    ASSERT_EQ(world.machine().epoch(), 0) << "seed " << seed;
    // A task that nobody waits for may not have come to its start.
    ASSERT_GE(world.runs(), world.machine().tasks().tracked()) << "seed " << seed;
    ASSERT_LE(world.runs(), world.machine().tasks().size()) << "seed " << seed;
    restarts += world.restarts();
  }
  EXPECT_GT(restarts, 1000);
}

}  // namespace
}  // namespace tony::core
