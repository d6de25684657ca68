// A journal that is another job's, or changed: what the job does not have is passed over.
#include <gtest/gtest.h>

#include "common/fake_clock.h"
#include "core/job/job_machine.h"

namespace tony::core {
namespace {

TEST(JobRecoveryTest, DecisionsAboutWhatTheJobDoesNotHaveChangeNothing) {
  JobDescription job;
  job.types = {{.name = "worker", .instances = 1, .command = "true"}};
  JobMachine machine(job);
  const FakeClock clock;
  const TaskId stranger{"evaluator", 0};
  auto spec = std::make_shared<ClusterSpec>();
  spec->endpoints = {{stranger, "host", 1, "id", "", false}};
  for (const Decision& decision : Decisions{
           decision::ContainerBound{{}, stranger}, decision::GangReleased{0, spec},
           decision::TaskConcluded{stranger, {}}, decision::TasksRestarted{.tasks = {stranger}},
           decision::TrackingStopped{"evaluator"}}) {
    machine.Replay(decision, clock.Now());
  }
  (void)machine.Apply(input::Start{.incarnation = 2}, clock.Now());
  EXPECT_FALSE(machine.verdict().has_value());
  EXPECT_EQ(machine.tasks().tracked(), 1);
}

}  // namespace
}  // namespace tony::core
