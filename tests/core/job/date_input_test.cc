// Ends of tasks on hosts whose clocks are wrong: who is guilty, whatever these clocks say.
#include "core/job/date_input.h"

#include <gtest/gtest.h>

#include <csignal>

#include "common/fake_clock.h"
#include "core/judge/root_cause.h"
#include "core/tasks/arrival_dates.h"

namespace tony::core {
namespace {

using std::chrono::milliseconds;

/// The executor of a task on a host of its own, whose clock is `ahead` of true time.
class SkewedHost {
 public:
  SkewedHost(const FakeClock& clock, int index, milliseconds ahead)
      : clock_(clock), index_(index), ahead_(ahead) {}

  void EndTask() { ended_at_ = clock_.Now(); }
  /// What the executor says when it is asked now: the first time, or on another stream.
  TaskExit Exit() const {
    const Duration ago = clock_.Now() - ended_at_;
    TaskExit exit{.cause = TaskExit::Cause::kSignaled, .signal = SIGKILL};
    exit.ended_ago_millis = ago / milliseconds(1);
    exit.host_millis = clock_.UnixMillis() - exit.ended_ago_millis + ahead_.count();
    return exit;
  }
  JobInput Ended() const { return input::TaskEnded{"c", 1, 1, Exit()}; }
  JobInput AttachedAgain() const {
    input::HeldTask held{.phase = input::HeldTask::Phase::kEnded, .epoch = 1, .attempt = 1};
    held.exit = Exit();
    return input::ExecutorAttached{.container_id = "c", .held = held};
  }
  TaskFailure FailureOf(JobInput input) const {
    DateInput(clock_.UnixMillis(), input);
    const auto* const ended = std::get_if<input::TaskEnded>(&input);
    return {{"worker", index_},
            ended != nullptr ? ended->exit : std::get<input::ExecutorAttached>(input).held->exit,
            "h" + std::to_string(index_)};
  }

 private:
  const FakeClock& clock_;
  const int index_;
  const milliseconds ahead_;
  TimePoint ended_at_;
};

TEST(DateInput, AClockThatIsAheadDoesNotMakeTheVictimGuilty) {
  for (const int64_t skew : {-3'600'000, -5'000, 5'000, 3'600'000}) {
    FakeClock clock;
    SkewedHost guilty(clock, 0, milliseconds(skew)), victim(clock, 1, milliseconds(0));
    guilty.EndTask();
    clock.Advance(milliseconds(3'000));
    victim.EndTask();
    const TaskFailure second = victim.FailureOf(victim.Ended());
    const TaskFailure first = guilty.FailureOf(guilty.Ended());
    EXPECT_EQ(second.exit.ended_millis - first.exit.ended_millis, 3'000) << skew;
    EXPECT_EQ(RootCauseOf({second, first}), 1U) << skew;
    EXPECT_EQ(RootCauseOf({first, second}), 0U) << skew;
  }
}

TEST(DateInput, AnEndThatIsToldOnALaterStreamKeepsItsDate) {
  FakeClock clock;
  SkewedHost guilty(clock, 0, milliseconds(90'000)), victim(clock, 1, milliseconds(-90'000));
  guilty.EndTask();
  const TaskFailure told = guilty.FailureOf(guilty.Ended());
  clock.Advance(milliseconds(2'000));
  victim.EndTask();
  const TaskFailure other = victim.FailureOf(victim.Ended());
  // The stream of the guilty one was broken; it is heard again after a minute.
  clock.Advance(milliseconds(60'000));
  const TaskFailure late = guilty.FailureOf(guilty.AttachedAgain());
  EXPECT_EQ(late.exit.ended_millis, told.exit.ended_millis);
  EXPECT_EQ(RootCauseOf({other, late}), 1U);
}

TEST(DateInput, TheWayOfAMessageCountsOnlyWithinTheTolerance) {
  FakeClock clock;
  SkewedHost guilty(clock, 0, milliseconds(0)), victim(clock, 1, milliseconds(0));
  guilty.EndTask();
  const JobInput on_its_way = guilty.Ended();
  victim.EndTask();
  const TaskFailure first_heard = victim.FailureOf(victim.Ended());
  clock.Advance(milliseconds(kArrivalToleranceMillis));
  const TaskFailure delayed = guilty.FailureOf(on_its_way);
  EXPECT_EQ(delayed.exit.ended_millis - first_heard.exit.ended_millis, kArrivalToleranceMillis);
  EXPECT_EQ(RootCauseOf({delayed, first_heard}), 0U) << "the order of report decides";
}

TEST(DateInput, AnExitThatDoesNotSayHowLongAgoKeepsItsDate) {
  JobInput input = input::TaskEnded{"c", 1, 1, {}};
  std::get<input::TaskEnded>(input).exit.ended_millis = 42;
  DateInput(1'700'000'000'000, input);
  EXPECT_EQ(std::get<input::TaskEnded>(input).exit.ended_millis, 42);
  JobInput hello = input::ExecutorAttached{.container_id = "c"};
  DateInput(1'700'000'000'000, hello);
  EXPECT_FALSE(std::get<input::ExecutorAttached>(hello).held.has_value());
}

TEST(DateInput, MeasurementsAreDatedToo) {
  input::Heartbeat heartbeat{"c", TaskUsage{}};
  heartbeat.usage->progress = Progress{.step = 3, .first_step_ago_millis = 500};
  JobInput input = heartbeat;
  DateInput(1'700'000'000'000, input);
  EXPECT_EQ(std::get<input::Heartbeat>(input).usage->progress->first_step_millis,
            1'699'999'999'500);
}

}  // namespace
}  // namespace tony::core
