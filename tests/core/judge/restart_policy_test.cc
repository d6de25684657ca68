// Tests what starts again after a failure, which budget pays, and how long the restart waits.
#include "core/judge/restart_policy.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace tony::core {
namespace {

using Cause = TaskExit::Cause;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kNow{hours(5)};

JobDescription Job(int user, int infrastructure) {
  JobDescription job;
  job.retry_count = user;
  job.infrastructure_retry_count = infrastructure;
  return job;
}

/// worker:1 ended by `cause` after it had run for a second.
RestartCause Failure(Cause cause, RestartScope scope = RestartScope::kJob) {
  RestartCause failure;
  failure.task = {"worker", 1};
  failure.scope = scope;
  failure.exit.cause = cause;
  failure.exit.code = cause == Cause::kExited ? 1 : 0;
  failure.container_lost = cause == Cause::kLost;
  failure.running_since = kNow - seconds(1);
  return failure;
}

RestartCause PortTaken(RestartScope scope = RestartScope::kJob) {
  RestartCause failure = Failure(Cause::kExited, scope);
  failure.port_taken = true;
  return failure;
}

Restart MustRestart(RestartPolicy& policy, const RestartCause& cause, TimePoint now = kNow) {
  const RestartDecision decision = policy.Decide(cause, now);
  if (const auto* given_up = std::get_if<GiveUp>(&decision)) {
    ADD_FAILURE() << "gives up: " << given_up->sentence;
    return {};
  }
  return std::get<Restart>(decision);
}

std::string GivesUp(RestartPolicy& policy, const RestartCause& cause) {
  const RestartDecision decision = policy.Decide(cause, kNow);
  const auto* given_up = std::get_if<GiveUp>(&decision);
  return given_up != nullptr ? given_up->sentence : "restarts";
}

TEST(RestartPolicyTest, EachFailureHasItsBudget) {
  struct Row {
    const char* what;
    RestartCause cause;
    RestartBudget budget;
  };
  RestartCause lost_with_port = Failure(Cause::kLost);
  lost_with_port.port_taken = true;
  RestartCause exited_then_lost = Failure(Cause::kExited);
  exited_then_lost.container_lost = true;
  const std::vector<Row> rows = {
      {"a code", Failure(Cause::kExited), RestartBudget::kUser},
      {"a signal", Failure(Cause::kSignaled), RestartBudget::kUser},
      {"could not be started", Failure(Cause::kNotStarted), RestartBudget::kUser},
      {"the user's own time limit", Failure(Cause::kTimedOut), RestartBudget::kUser},
      {"a lost container", Failure(Cause::kLost), RestartBudget::kInfrastructure},
      {"a lost port", PortTaken(), RestartBudget::kLostPort},
      {"a lost container whose port was taken", lost_with_port, RestartBudget::kInfrastructure},
      {"a failed program, its container lost after it", exited_then_lost, RestartBudget::kUser},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    RestartPolicy policy(Job(5, 7));
    Restart expected{.scope = RestartScope::kJob,
                     .not_before = kNow,
                     .budget = row.budget,
                     .user_left = 5,
                     .infrastructure_left = 7,
                     .lost_port_left = 3};
    switch (row.budget) {
      case RestartBudget::kUser:
        expected.user_left = 4;
        break;
      case RestartBudget::kInfrastructure:
        expected.infrastructure_left = 6;
        break;
      case RestartBudget::kLostPort:
        expected.lost_port_left = 2;
        break;
    }
    EXPECT_EQ(MustRestart(policy, row.cause), expected);
  }
}

TEST(RestartPolicyTest, ABudgetThatIsUsedUpEndsTheJobAndLeavesTheOther) {
  RestartPolicy policy(Job(2, 1));
  MustRestart(policy, Failure(Cause::kExited));
  MustRestart(policy, Failure(Cause::kSignaled));
  EXPECT_EQ(GivesUp(policy, Failure(Cause::kExited)),
            "all 2 restarts after failures of the program that tony.am.retry-count allows are used "
            "up");
  EXPECT_EQ(MustRestart(policy, Failure(Cause::kLost)).infrastructure_left, 0);
  EXPECT_EQ(GivesUp(policy, Failure(Cause::kLost)),
            "the one restart after losses of containers and executors that "
            "tony.am.infrastructure-retry-count allows is used up");
  EXPECT_EQ(policy.state(), (RestartState{2, 1, 0, 3})) << "giving up spends nothing";
}

TEST(RestartPolicyTest, ByDefaultLossesAreReplacedAndFailuresAreNot) {
  RestartPolicy policy{JobDescription()};
  EXPECT_EQ(GivesUp(policy, Failure(Cause::kExited)),
            "tony.am.retry-count allows no restart after failures of the program");
  EXPECT_EQ(GivesUp(policy, Failure(Cause::kTimedOut)),
            "tony.am.retry-count allows no restart after failures of the program");
  for (int left : {2, 1, 0}) {
    EXPECT_EQ(MustRestart(policy, Failure(Cause::kLost)).infrastructure_left, left);
  }
  EXPECT_NE(GivesUp(policy, Failure(Cause::kLost)), "restarts");
  RestartPolicy none(Job(1, 0));
  EXPECT_EQ(GivesUp(none, Failure(Cause::kLost)),
            "tony.am.infrastructure-retry-count allows no restart after losses of containers and "
            "executors");
}

TEST(RestartPolicyTest, ALostPortIsFreeThreeTimesAndThenTheUsers) {
  RestartPolicy policy(Job(1, 1));
  for (int left : {2, 1, 0}) {
    const Restart restart = MustRestart(policy, PortTaken());
    EXPECT_EQ(restart.budget, RestartBudget::kLostPort);
    EXPECT_EQ(restart.lost_port_left, left);
    EXPECT_EQ(restart.user_left, 1);
    EXPECT_EQ(restart.infrastructure_left, 1);
  }
  EXPECT_EQ(MustRestart(policy, PortTaken()).budget, RestartBudget::kUser);
  EXPECT_NE(GivesUp(policy, PortTaken()), "restarts");
}

TEST(RestartPolicyTest, TheScopeIsTheTypesUnlessAddressesHaveToChange) {
  for (RestartScope scope : {RestartScope::kJob, RestartScope::kType, RestartScope::kTask}) {
    RestartPolicy policy(Job(100, 100));
    EXPECT_EQ(MustRestart(policy, Failure(Cause::kExited, scope)).scope, scope);
    EXPECT_EQ(MustRestart(policy, Failure(Cause::kSignaled, scope)).scope, scope);
    EXPECT_EQ(MustRestart(policy, Failure(Cause::kTimedOut, scope)).scope, scope);

    RestartCause executor_lives = Failure(Cause::kLost, scope);
    executor_lives.container_lost = false;
    EXPECT_EQ(MustRestart(policy, executor_lives).scope, scope);

    EXPECT_EQ(MustRestart(policy, Failure(Cause::kLost, scope)).scope, RestartScope::kJob);
    EXPECT_EQ(MustRestart(policy, PortTaken(scope)).scope, RestartScope::kJob);
    RestartCause early = Failure(Cause::kNotStarted, scope);
    early.running_since.reset();
    EXPECT_EQ(MustRestart(policy, early).scope, RestartScope::kJob);
  }
}

/// How long each of the next `count` restarts waits, the tasks failing a second after each start.
std::vector<milliseconds> Delays(RestartPolicy& policy, int count) {
  std::vector<milliseconds> delays;
  TimePoint now = kNow;
  for (int i = 0; i < count; ++i) {
    RestartCause cause = Failure(Cause::kExited);
    cause.running_since = now - seconds(1);
    const Restart restart = MustRestart(policy, cause, now);
    delays.push_back(std::chrono::duration_cast<milliseconds>(restart.not_before - now));
    now = restart.not_before + seconds(1);
  }
  return delays;
}

std::vector<milliseconds> Milliseconds(const std::vector<int>& counts) {
  return {counts.begin(), counts.end()};
}

TEST(RestartPolicyTest, WaitsTwiceAsLongEachTimeUpToAMaximum) {
  struct Row {
    int backoff;
    int maximum;
    std::vector<int> delays;
  };
  const std::vector<Row> rows = {
      {1000, 60000, {0, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000}},
      {100, 1600, {0, 100, 200, 400, 800, 1600, 1600}},
      {0, 60000, {0, 0, 0, 0}},
      {5000, 2000, {0, 2000, 2000}},
      {700, 0, {0, 0, 0}},
  };
  for (const Row& row : rows) {
    JobDescription job = Job(1000, 0);
    job.retry_backoff = milliseconds(row.backoff);
    job.retry_backoff_max = milliseconds(row.maximum);
    RestartPolicy policy(job);
    EXPECT_EQ(Delays(policy, static_cast<int>(row.delays.size())), Milliseconds(row.delays))
        << row.backoff << " up to " << row.maximum;
  }
}

TEST(RestartPolicyTest, WaitsNoLongerThanTheMaximumAfterAnyNumberOfRestarts) {
  JobDescription job = Job(1'000'000, 0);
  job.retry_backoff_max = hours(24 * 24);
  RestartPolicy policy(job);
  EXPECT_EQ(Delays(policy, 500).back(), job.retry_backoff_max);
}

TEST(RestartPolicyTest, BeginsAnewWhenTheTasksHadRunForLongerThanTheMaximum) {
  RestartPolicy policy(Job(1000, 0));
  EXPECT_EQ(Delays(policy, 4), Milliseconds({0, 1000, 2000, 4000}));
  RestartCause just_short = Failure(Cause::kExited);
  just_short.running_since = kNow - seconds(60);
  EXPECT_EQ(MustRestart(policy, just_short).not_before, kNow + seconds(8));
  RestartCause recovered = Failure(Cause::kExited);
  recovered.running_since = kNow - seconds(60) - milliseconds(1);
  EXPECT_EQ(MustRestart(policy, recovered).not_before, kNow);
  EXPECT_EQ(policy.state().in_a_row, 1);
  EXPECT_EQ(policy.state().user, 6) << "budgets are never filled up again";
}

TEST(RestartPolicyTest, TimeInAQueueIsNoTimeOfRunning) {
  RestartPolicy policy(Job(1000, 0));
  Delays(policy, 3);
  RestartCause never_ran = Failure(Cause::kNotStarted);
  never_ran.running_since.reset();
  EXPECT_EQ(MustRestart(policy, never_ran, kNow + hours(9)).not_before,
            kNow + hours(9) + seconds(4));
}

TEST(RestartPolicyTest, AllBudgetsShareOneBackOff) {
  RestartPolicy policy(Job(9, 9));
  EXPECT_EQ(MustRestart(policy, Failure(Cause::kExited)).not_before, kNow);
  EXPECT_EQ(MustRestart(policy, Failure(Cause::kLost)).not_before, kNow + seconds(1));
  EXPECT_EQ(MustRestart(policy, PortTaken()).not_before, kNow + seconds(2));
}

TEST(RestartPolicyTest, ASmallerBudgetAfterTheFactLeavesNothingRatherThanLess) {
  RestartPolicy policy(Job(1, 3), {.user = 5, .infrastructure = 0, .lost_port = 3, .in_a_row = 0});
  EXPECT_EQ(MustRestart(policy, Failure(Cause::kLost)).user_left, 0);
  EXPECT_NE(GivesUp(policy, PortTaken()), "restarts");
}

RestartCause RandomFailure(std::mt19937& random, TimePoint now) {
  constexpr std::array kCauses = {Cause::kExited, Cause::kSignaled, Cause::kNotStarted,
                                  Cause::kTimedOut, Cause::kLost};
  RestartCause cause =
      Failure(kCauses[random() % kCauses.size()], static_cast<RestartScope>(random() % 3));
  cause.port_taken = random() % 4 == 0;
  cause.running_since.reset();
  if (random() % 5 != 0) cause.running_since = now - seconds(random() % 100);
  return cause;
}

TEST(RestartPolicyTest, DecidesAsOneThatWasRestoredBeforeEveryStep) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const JobDescription job = Job(static_cast<int>(random() % 8), static_cast<int>(random() % 8));
    RestartPolicy whole(job);
    RestartState journal;
    int restarts = 0;
    TimePoint now = kNow;
    for (int step = 0; step < 40; ++step) {
      const RestartCause cause = RandomFailure(random, now);
      RestartPolicy restored(job, journal);
      const RestartDecision decision = whole.Decide(cause, now);
      ASSERT_EQ(restored.Decide(cause, now), decision) << "seed " << seed << ", step " << step;
      ASSERT_EQ(restored.state(), whole.state());
      const auto* restart = std::get_if<Restart>(&decision);
      restarts += restart != nullptr ? 1 : 0;
      if (restart != nullptr) {
        ASSERT_GE(restart->not_before, now);
      }
      journal = whole.state();
      now += milliseconds(random() % 200'000);
    }
    EXPECT_LE(restarts,
              job.retry_count + job.infrastructure_retry_count + RestartPolicy::kLostPortRestarts);
    EXPECT_EQ(restarts, journal.user + journal.infrastructure + journal.lost_port);
  }
}

}  // namespace
}  // namespace tony::core
