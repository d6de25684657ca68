// What a job does when its program makes no progress, by the machine's effects under a fake clock.
#include "core/job/hang_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/job/job_machine.h"

namespace tony::core {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class HangRuleTest : public ::testing::Test {
 protected:
  /// Two workers that train with a step each five seconds.
  void Run(HangAction action, int retry_count = 0, bool tolerant = false) {
    JobDescription job;
    job.fail_on_worker_failure = !tolerant;
    job.types.resize(1);
    job.types[0].name = "worker";
    job.types[0].instances = 2;
    job.retry_count = retry_count;
    machine_ = std::make_unique<JobMachine>(job, HangSettings{.action = action, .limit = limit_});
    Apply(input::Start{1, ""});
    for (const std::string id : {"c0", "c1"}) {
      Container container;
      container.id = id;
      container.type = "worker";
      container.host = container.host_id = "host";
      Apply(input::ContainerGranted{container});
      Apply(input::ExecutorAttached{id});
    }
    Start(0);
    for (int i = 0; i < 10; ++i) Pass(seconds(5), /*steps=*/1);
    ASSERT_THAT(effects_, IsEmpty());
  }
  void Start(int epoch) {
    for (const std::string id : {"c0", "c1"}) {
      Apply(input::ExecutorRegistered{id, epoch, epoch + 1, 2222, 0});
    }
    for (const std::string id : {"c0", "c1"}) {
      Apply(input::TaskStarted{id, epoch, epoch + 1, 1000});
    }
    step_ = -1;
    effects_.clear();
  }
  /// Time passes, with measurements of both each five seconds. `steps`: made at the end of each.
  void Pass(seconds time, int steps) {
    for (seconds left = time; left > seconds(0); left -= seconds(5)) {
      now_ += seconds(5);
      if (steps > 0) {
        step_ += steps;
        stepped_ = now_;
        cpu_ += 10;
      }
      computed_ += 10;
      for (const std::string id : {"c0", "c1"}) {
        TaskUsage usage;
        usage.cpu_seconds = id == computes_ ? computed_ : cpu_;
        usage.progress.emplace();
        usage.progress->step = step_;
        usage.progress->idle_seconds = std::chrono::duration<double>(now_ - stepped_).count();
        Apply(input::Heartbeat{.container_id = id, .usage = usage});
      }
      Apply(input::Tick{});
    }
  }
  void Apply(const JobInput& input) {
    for (JobEffect& effect : machine_->Apply(input, now_)) {
      if (auto* keep = std::get_if<effect::KeepStacks>(&effect)) {
        effects_.push_back((keep->again ? "again: " : "keep: ") + keep->why);
      }
      if (auto* record = std::get_if<effect::Record>(&effect)) {
        if (auto* note = std::get_if<JobNote>(&record->body)) {
          effects_.push_back("note: " + note->sentence);
        }
        if (auto* epoch = std::get_if<EpochOpened>(&record->body)) {
          effects_.push_back("epoch: " + epoch->cause);
        }
      }
      if (auto* shutdown = std::get_if<effect::SendShutdown>(&effect)) {
        effects_.push_back("shutdown " + shutdown->container_id);
      }
    }
  }
  std::vector<std::string> TakeEffects() { return std::exchange(effects_, {}); }

  std::unique_ptr<JobMachine> machine_;
  TimePoint now_{std::chrono::hours(1)};
  int64_t step_ = -1;
  TimePoint stepped_;
  double cpu_ = 0;
  std::chrono::milliseconds limit_{0};
  std::string computes_;  ///< container of a task that computes also without a step
  double computed_ = 0;
  std::vector<std::string> effects_;
};

TEST_F(HangRuleTest, WarnsTwiceAndGoesOn) {
  Run(HangAction::kWarn);
  Pass(seconds(60), 0);
  EXPECT_THAT(TakeEffects(), IsEmpty());
  Pass(seconds(5), 0);
  EXPECT_THAT(
      TakeEffects(),
      ElementsAre("keep: The job seems to hang: worker:0 has named no step for 1m 05s after "
                  "step 9 (at most 1m 00s would be usual) and uses 0.0 of its usual 2.0 "
                  "cores"));
  Pass(seconds(25), 0);
  EXPECT_THAT(TakeEffects(), IsEmpty());
  Pass(seconds(5), 0);
  EXPECT_THAT(TakeEffects(), ElementsAre(HasSubstr("again: The job still hangs: worker:0")));
  Pass(seconds(600), 0);
  EXPECT_THAT(TakeEffects(), IsEmpty());
  EXPECT_EQ(machine_->state(), JobState::kRunning);
  Pass(seconds(5), 1);
  EXPECT_THAT(TakeEffects(), ElementsAre("note: The job makes progress again"));
  Pass(seconds(50), 1);
  EXPECT_THAT(TakeEffects(), IsEmpty());
}

TEST_F(HangRuleTest, RestartsAfterTheStacksAreKept) {
  Run(HangAction::kRestart, /*retry_count=*/1);
  Pass(seconds(95), 0);
  EXPECT_EQ(TakeEffects().size(), 2u);
  Pass(seconds(5), 0);
  EXPECT_THAT(TakeEffects(),
              ElementsAre(HasSubstr("epoch: worker:0 was stopped because it ran longer than "
                                    "allowed: worker:0 has named no step for 1m 40s")));
  EXPECT_EQ(machine_->state(), JobState::kRestarting);
  Start(1);
  Pass(seconds(300), 0);  // the new run has named no step
  EXPECT_THAT(TakeEffects(), IsEmpty());
}

TEST_F(HangRuleTest, TheSuspectOfTheStacksIsTheOneThatRestarts) {
  Run(HangAction::kRestart, /*retry_count=*/1);
  Pass(seconds(95), 0);
  Apply(input::StacksKept{.suspect = TaskId("worker", 1)});
  TakeEffects();
  Pass(seconds(5), 0);
  EXPECT_THAT(TakeEffects(),
              ElementsAre(HasSubstr("epoch: worker:1 was stopped because it ran longer than "
                                    "allowed: worker:1 has named no step for 1m 40s")));
}

TEST_F(HangRuleTest, ASuspectThatComputesAtTheSamePlaceIsStillTheSuspect) {
  computes_ = "c1";
  Run(HangAction::kFail);
  Pass(seconds(95), 0);
  Apply(input::StacksKept{.suspect = TaskId("worker", 1)});
  Pass(seconds(5), 0);
  ASSERT_TRUE(machine_->verdict());
  EXPECT_EQ(machine_->verdict()->guilty, (TaskId{"worker", 1}));
  EXPECT_THAT(machine_->verdict()->sentence,
              AllOf(HasSubstr("worker:0 has named no step for 1m 40s"),
                    HasSubstr("by its stack it waits for worker:1")));
}

TEST_F(HangRuleTest, ATaskThatComputesAndMovesIsLeftToIt) {
  computes_ = "c1";
  limit_ = seconds(60);
  Run(HangAction::kRestart, /*retry_count=*/1);
  Pass(seconds(65), 0);
  EXPECT_THAT(TakeEffects(), ElementsAre(HasSubstr("keep: The job seems to hang: worker:0")));
  // Each look with twice the pause, and five seconds for the answer.
  for (const int pause : {30, 60, 120, 240}) {
    Pass(seconds(pause), 0);
    EXPECT_THAT(TakeEffects(), ElementsAre(HasSubstr("again: The job still hangs: worker:0")));
    Apply(input::StacksKept{.moved = {TaskId("worker", 1)}});
    Pass(seconds(5), 0);
    EXPECT_THAT(TakeEffects(), IsEmpty());
  }
  Pass(seconds(5), 1);  // the evaluation is over
  EXPECT_THAT(TakeEffects(), ElementsAre("note: The job makes progress again"));
  Pass(seconds(50), 1);
  Pass(seconds(65), 0);
  EXPECT_THAT(TakeEffects(), ElementsAre(HasSubstr("keep: The job seems to hang")));
  Pass(seconds(30), 0);
  EXPECT_THAT(TakeEffects(), ElementsAre(HasSubstr("again"))) << "the pause is short again";
}

TEST_F(HangRuleTest, ATaskThatComputesAtTheSamePlaceSpins) {
  computes_ = "c1";
  Run(HangAction::kFail);
  Pass(seconds(95), 0);
  // worker:0 moves without computing: it polls. worker:1 computes without moving.
  Apply(input::StacksKept{.moved = {TaskId("worker", 0)}});
  Pass(seconds(5), 0);
  EXPECT_TRUE(machine_->verdict());
}

TEST_F(HangRuleTest, TheProgramOfATaskWhoseFailureIsToleratedIsEndedToo) {
  Run(HangAction::kRestart, /*retry_count=*/0, /*tolerant=*/true);
  Pass(seconds(95), 0);
  Apply(input::StacksKept{.suspect = TaskId("worker", 1)});  // worker:0 is the chief
  TakeEffects();
  Pass(seconds(5), 0);
  EXPECT_FALSE(machine_->verdict()) << "worker:0 goes on";
  EXPECT_THAT(TakeEffects(), ElementsAre("shutdown c1"));
}

TEST_F(HangRuleTest, FailsWithoutABudget) {
  Run(HangAction::kRestart);
  Pass(seconds(100), 0);
  ASSERT_TRUE(machine_->verdict());
  EXPECT_EQ(machine_->verdict()->reason, Reason::kTaskTimedOut);
}

TEST_F(HangRuleTest, FailsIfWanted) {
  Run(HangAction::kFail, /*retry_count=*/1);
  Pass(seconds(95), 0);
  EXPECT_EQ(TakeEffects().size(), 2u);
  ASSERT_FALSE(machine_->verdict());
  Pass(seconds(5), 0);
  ASSERT_TRUE(machine_->verdict());
  EXPECT_EQ(machine_->verdict()->outcome, Outcome::kFailed);
  EXPECT_EQ(machine_->verdict()->reason, Reason::kTaskTimedOut);
  EXPECT_EQ(machine_->verdict()->guilty, (TaskId{"worker", 0}));
  EXPECT_THAT(machine_->verdict()->sentence, HasSubstr("has named no step for 1m 40s"));
  EXPECT_THAT(TakeEffects(), ElementsAre("shutdown c0", "shutdown c1"));
}

}  // namespace
}  // namespace tony::core
