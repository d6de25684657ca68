// Tests which failures count, and when an attempt is over.
#include "core/judge/success_policy.h"

#include <gtest/gtest.h>

#include <memory>

#include "core/model/master_task.h"

namespace tony::core {
namespace {

TaskExit Code(int code) {
  TaskExit exit;
  exit.code = code;
  return exit;
}

/// A job of chief:0 (if wanted), worker:0 and worker:1, ps:0 (untracked) and tensorboard:0 (a
/// sidecar).
class SuccessPolicyTest : public testing::Test {
 protected:
  void Make(bool with_chief, bool fail_on_worker_failure, const std::string& stop_on_failure = "") {
    job_ = JobDescription();
    job_.fail_on_worker_failure = fail_on_worker_failure;
    if (with_chief) Add("chief", 1, Tracking::kTracked);
    Add("worker", 2, Tracking::kTracked);
    Add("ps", 1, Tracking::kUntracked);
    Add("tensorboard", 1, Tracking::kSidecar);
    for (TaskType& type : job_.types) type.stop_on_failure = type.name == stop_on_failure;
    table_ = std::make_unique<TaskTable>(job_.types);
  }

  void Add(const std::string& name, int instances, Tracking tracking) {
    TaskType type;
    type.name = name;
    type.instances = instances;
    type.tracking = tracking;
    job_.types.push_back(std::move(type));
  }

  Task& Find(const std::string& name) {
    for (Task& task : table_->all()) {
      if (task.id.ToString() == name) return task;
    }
    ADD_FAILURE() << "no task " << name;
    return table_->all()[0];
  }

  bool FailsAttempt(const std::string& name) {
    return SuccessPolicy(job_).FailsAttempt(Find(name));
  }

  void End(const std::string& name, int code, int second = 0) {
    Task& task = Find(name);
    task.exit = Code(code);
    task.since = TimePoint(std::chrono::seconds(second));
    table_->SetState(task, code == 0 ? TaskState::kSucceeded : TaskState::kFailed);
  }

  std::optional<Verdict> Judge() { return SuccessPolicy(job_).JudgeAll(*table_); }

  JobDescription job_;
  std::unique_ptr<TaskTable> table_;
};

TEST_F(SuccessPolicyTest, ByDefaultEveryTrackedAndUntrackedFailureCounts) {
  EXPECT_TRUE(JobDescription().fail_on_worker_failure);
  Make(true, true);
  for (const char* name : {"chief:0", "worker:0", "worker:1", "ps:0"})
    EXPECT_TRUE(FailsAttempt(name)) << name;
  EXPECT_FALSE(FailsAttempt("tensorboard:0"));
}

TEST_F(SuccessPolicyTest, ToleratedFailuresAreThoseOfWorkersBesideAChief) {
  Make(true, false);
  EXPECT_TRUE(FailsAttempt("chief:0"));
  EXPECT_TRUE(FailsAttempt("ps:0"));
  EXPECT_FALSE(FailsAttempt("worker:0"));
  EXPECT_FALSE(FailsAttempt("worker:1"));
}

TEST_F(SuccessPolicyTest, WithoutAChiefTheFirstWorkerIsIt) {
  Make(false, false);
  EXPECT_TRUE(FailsAttempt("worker:0"));
  EXPECT_FALSE(FailsAttempt("worker:1"));
}

TEST_F(SuccessPolicyTest, ATypeOfStopOnFailureCountsAlthoughFailuresAreTolerated) {
  Make(true, false, "worker");
  EXPECT_TRUE(FailsAttempt("worker:1"));
  Make(true, false, "tensorboard");
  EXPECT_FALSE(FailsAttempt("tensorboard:0"));
}

TEST_F(SuccessPolicyTest, WhatOthersDependOnCountsAlthoughFailuresAreTolerated) {
  Make(true, false);
  Add("evaluator", 1, Tracking::kTracked);
  job_.types.back().depends_on = {"worker"};
  table_ = std::make_unique<TaskTable>(job_.types);
  EXPECT_TRUE(FailsAttempt("worker:1"));
  EXPECT_FALSE(FailsAttempt("evaluator:0"));
}

TEST_F(SuccessPolicyTest, NobodyIsWaitedForOnceNothingIsTracked) {
  Make(false, true);
  table_->StopTracking("worker");
  EXPECT_EQ(Judge()->sentence, "There is no task left to wait for");
  EXPECT_EQ(Judge()->outcome, Outcome::kSucceeded);
}

TEST_F(SuccessPolicyTest, IsNotOverBeforeTheLastTrackedTask) {
  Make(false, true);
  EXPECT_EQ(Judge(), std::nullopt);
  End("worker:0", 0);
  End("ps:0", 0);
  End("tensorboard:0", 1);
  EXPECT_EQ(Judge(), std::nullopt);
  End("worker:1", 0);
  const std::optional<Verdict> verdict = Judge();
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->outcome, Outcome::kSucceeded);
  EXPECT_EQ(verdict->reason, Reason::kTasksSucceeded);
  EXPECT_EQ(verdict->sentence, "All 2 tracked tasks succeeded");
  EXPECT_EQ(verdict->guilty, std::nullopt);
}

TEST_F(SuccessPolicyTest, SomeFailuresAreASuccessThatSaysSo) {
  Make(false, false);
  End("worker:0", 0);
  End("worker:1", 3);
  const std::optional<Verdict> verdict = Judge();
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->outcome, Outcome::kSucceeded);
  EXPECT_EQ(verdict->reason, Reason::kSomeTasksFailed);
  EXPECT_EQ(verdict->sentence,
            "1 of 2 tracked tasks failed, which "
            "tony.application.fail-on-worker-failure-enabled=false tolerates");
}

TEST_F(SuccessPolicyTest, AllFailuresAreAFailureOfTheFirstOne) {
  Make(false, false);
  End("worker:0", 4, 20);
  End("worker:1", 3, 10);
  const std::optional<Verdict> verdict = Judge();
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->outcome, Outcome::kFailed);
  EXPECT_EQ(verdict->guilty, (TaskId{"worker", 1}));
  EXPECT_EQ(verdict->exit, Code(3));
  EXPECT_EQ(verdict->sentence, "All 2 tracked tasks failed; first: worker:1 exited with code 3");
}

TEST_F(SuccessPolicyTest, TheReasonFollowsFromHowTheTaskEnded) {
  Make(false, true);
  Task& task = Find("worker:1");
  const std::pair<TaskExit::Cause, Reason> pairs[] = {
      {TaskExit::Cause::kExited, Reason::kTaskFailed},
      {TaskExit::Cause::kSignaled, Reason::kTaskFailed},
      {TaskExit::Cause::kOutOfMemory, Reason::kOutOfMemory},
      {TaskExit::Cause::kNotStarted, Reason::kTaskNotStarted},
      {TaskExit::Cause::kTimedOut, Reason::kTaskTimedOut},
      {TaskExit::Cause::kLost, Reason::kTaskLost},
      {TaskExit::Cause::kStopped, Reason::kTaskFailed},
  };
  for (const auto& [cause, reason] : pairs) {
    task.exit = TaskExit{cause, 1, 9, "", {"last line"}};
    const Verdict verdict = SuccessPolicy::FailureOf(task);
    EXPECT_EQ(verdict.reason, reason);
    EXPECT_EQ(verdict.outcome, Outcome::kFailed);
    EXPECT_EQ(verdict.guilty, task.id);
    EXPECT_EQ(verdict.exit, task.exit);
    EXPECT_EQ(verdict.sentence, "worker:1 " + task.exit->Describe());
  }
}

TEST_F(SuccessPolicyTest, AStrangerOnThePortIsNamed) {
  Make(false, true);
  Task& task = Find("worker:0");
  task.exit = Code(1);
  task.stranger = "pid 7 (nginx) of user 0 (port 2222)";
  EXPECT_EQ(SuccessPolicy::FailureOf(task).sentence,
            "worker:0 exited with code 1; its reserved port was taken by pid 7 (nginx) of user 0 "
            "(port 2222)");
}

TEST_F(SuccessPolicyTest, WhatRanBeforeAllOthersIsNoneOfThem) {
  job_ = JobDescription();
  job_.fail_on_worker_failure = false;
  job_.preprocess = true;
  Add("trainer", 2, Tracking::kTracked);
  job_ = WithMasterTask(job_);
  table_ = std::make_unique<TaskTable>(job_.types);
  EXPECT_TRUE(FailsAttempt("main:0"));
  EXPECT_FALSE(FailsAttempt("trainer:0"));
  End("main:0", 0, 1);
  End("trainer:1", 4, 2);
  EXPECT_EQ(Judge(), std::nullopt);
  End("trainer:0", 5, 3);
  const std::optional<Verdict> verdict = Judge();
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->outcome, Outcome::kFailed);
  EXPECT_EQ(verdict->sentence, "All 2 tracked tasks failed; first: trainer:1 exited with code 4");
}

}  // namespace
}  // namespace tony::core
