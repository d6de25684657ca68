// An executor that was stopped for longer than its lease: its program waits, it asks whether the
// task is still its own, and obeys the answer.
#include <gtest/gtest.h>

#include <functional>

#include "tests/executor/executor_fixture.h"
#include "tests/os/process_support.h"

namespace tony::executor {
namespace {

namespace input = core::input;
using Phase = input::HeldTask::Phase;

class LeaseTest : public ExecutorFixture {
 protected:
  v1::Assignment LeasedAssignment(int lease_ms, int grace_ms = 600'000) const {
    v1::Assignment assignment = AssignmentOf("trap 'echo asked' TERM; while :; do sleep 1; done");
    assignment.set_incarnation(1);
    assignment.set_reattach_ms(60'000);
    assignment.set_silence_ms(60'000);
    assignment.set_lease_ms(lease_ms);
    assignment.set_kill_grace_ms(grace_ms);
    return assignment;
  }
  // The lease is not to run out before the test is where it wants to be.
  void OnHeartbeat(const input::Heartbeat& heartbeat) override { Answer(heartbeat.sent); }

  // Runs a program and does nothing, as if this process were stopped, until that is suspended.
  pid_t RunUntilSuspended(int grace_ms = 600'000) {
    const pid_t program = RunTask(LeasedAssignment(2000, grace_ms));
    EXPECT_TRUE(os::WaitForState(program, 'T'));
    return program;
  }
  // It comes when a sign of life has been answered in time.
  void ExpectQuestion(Phase phase, int epoch) {
    input::ExecutorAttached attached;
    ASSERT_TRUE(driver_.Await([&] {
      while (const auto next = inputs_.TryNext()) {
        if (const auto* heartbeat = std::get_if<input::Heartbeat>(&*next)) Answer(heartbeat->sent);
        const auto* question = std::get_if<input::ExecutorAttached>(&*next);
        if (question == nullptr) continue;
        attached = *question;
        return true;
      }
      return false;
    }));
    ASSERT_TRUE(attached.held.has_value());
    EXPECT_EQ(attached.held->phase, phase);
    EXPECT_EQ(attached.held->epoch, epoch);
  }
  // On a busy machine the lease may run out again meanwhile, so signs of life and questions are
  // answered. Messages leave while the loop runs, so it has to run while the test waits.
  void ExpectGoesOn(pid_t program) {
    EXPECT_TRUE(driver_.Await([&] {
      while (const auto next = inputs_.TryNext()) {
        if (const auto* heartbeat = std::get_if<input::Heartbeat>(&*next)) Answer(heartbeat->sent);
        if (std::holds_alternative<input::ExecutorAttached>(*next)) SendReattached();
      }
      return os::StateOf(program) == 'S';  // looked at with each heartbeat
    }));
  }
  // At least `count` signs of life, of which it tells when they were given; nothing else may come.
  void TakeBeats(int count, const std::function<void(int64_t sent)>& take) {
    int beats = 0;
    ASSERT_TRUE(driver_.Await([&] {
      while (const auto next = inputs_.TryNext()) {
        const auto* heartbeat = std::get_if<input::Heartbeat>(&*next);
        EXPECT_NE(heartbeat, nullptr) << next->index();
        if (heartbeat == nullptr) continue;
        ++beats;
        take(heartbeat->sent);
      }
      return beats >= count;
    }));
  }
  void Answer(int64_t sent) {
    v1::MasterMessage message;
    message.mutable_heartbeat_answer()->set_sent(sent);
    Send(message);
  }
  void SendReattached() {
    v1::MasterMessage message;
    message.mutable_reattached()->set_incarnation(1);
    Send(message);
  }
};

TEST_F(LeaseTest, TheProgramGoesOnWhenTheTaskIsStillItsOwn) {
  const pid_t program = RunUntilSuspended();
  ExpectQuestion(Phase::kRunning, 1);
  EXPECT_TRUE(os::WaitForState(program, 'T'));
  SendReattached();
  ExpectGoesOn(program);
}

TEST_F(LeaseTest, TheProgramEndsWithoutAWordWhenItIsNot) {
  const pid_t program = RunUntilSuspended();
  SendShutdown();
  EXPECT_EQ(ExitCode(), 0);
  EXPECT_FALSE(os::IsAlive(program));
  EXPECT_EQ(os::Contents(folder_ / "logs/attempt-1/stdout.log"), "");
}

TEST_F(LeaseTest, WhatWasOnItsWayMeanwhileIsNotObeyed) {
  const pid_t program = RunUntilSuspended(0);
  SendPrepare(2, 2);  // would end the program
  ExpectQuestion(Phase::kRunning, 1);
  SendPrepare(2, 2);  // before the answer
  SendReattached();
  ExpectGoesOn(program);
  SendPrepare(2, 2);  // after it
  EXPECT_EQ(Next<input::TaskEnded>().epoch, 1);
}

// Each further question would cost an ApplicationMaster that cannot keep up a handshake, or a
// cluster spec.
TEST_F(LeaseTest, AsksOnceAndOnTheStreamThatIsThere) {
  RunUntilSuspended(0);
  ExpectQuestion(Phase::kRunning, 1);
  TakeBeats(5, [this](int64_t sent) { Answer(sent); });  // is heard before the answer, too
  SendPrepare(2, 2);                                     // is not
  SendReattached();
  SendPrepare(3, 3);
  EXPECT_EQ(Next<input::TaskEnded>().epoch, 1);
  EXPECT_EQ(Next<input::ExecutorRegistered>().epoch, 3);
  EXPECT_EQ(service_.streams, 1);
}

TEST_F(LeaseTest, WhoIsAnsweredKeepsIt) {
  const pid_t program = RunTask(LeasedAssignment(1500));
  TakeBeats(100, [this](int64_t sent) { Answer(sent); });  // two seconds
  EXPECT_TRUE(os::WaitForState(program, 'S'));
}

TEST_F(LeaseTest, WhoBeatsInVainLosesIt) {
  const pid_t program = RunTask(LeasedAssignment(2000));
  int64_t first = 0;
  TakeBeats(50, [&](int64_t sent) {
    if (first == 0) first = sent;
    Answer(first);  // to the first one, again and again: that is no news
  });
  EXPECT_TRUE(os::WaitForState(program, 'T'));
  ExpectQuestion(Phase::kRunning, 1);
}

}  // namespace
}  // namespace tony::executor
