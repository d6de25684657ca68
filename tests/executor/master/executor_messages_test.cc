// Tests what the ApplicationMaster reads in each message.
#include "executor/master/executor_messages.h"

#include <gtest/gtest.h>

namespace tony::executor {
namespace {

TEST(ExecutorMessagesTest, TheFirstHelloHoldsNoTask) {
  HelloContents contents{"c1", "cgroup", "boot-7", {}};
  EXPECT_FALSE(HelloMessage(contents).hello().has_held());
  contents.held.emplace();
  contents.held->epoch = 3;
  const v1::ExecutorMessage message = HelloMessage(contents);
  EXPECT_EQ(message.hello().container_id(), "c1");
  EXPECT_EQ(message.hello().containment(), "cgroup");
  EXPECT_EQ(message.hello().boot_id(), "boot-7");
  EXPECT_EQ(message.hello().held().epoch(), 3);
}

TEST(ExecutorMessagesTest, EachMessageOfARunNamesItsEpochAndAttempt) {
  const TaskRun run{4, 2};
  const v1::ExecutorMessage registered = RegisteredMessage(run, 1000, 2000);
  EXPECT_EQ(registered.registered().epoch(), 4);
  EXPECT_EQ(registered.registered().attempt(), 2);
  EXPECT_EQ(registered.registered().port(), 1000);
  EXPECT_EQ(registered.registered().visualization_port(), 2000);
  const v1::ExecutorMessage started = StartedMessage(run, 77);
  EXPECT_EQ(started.task_started().epoch(), 4);
  EXPECT_EQ(started.task_started().attempt(), 2);
  EXPECT_EQ(started.task_started().pid(), 77);
  const v1::ExecutorMessage ended = EndedMessage(run, core::TaskExit::Lost("gone"));
  EXPECT_EQ(ended.task_ended().epoch(), 4);
  EXPECT_EQ(ended.task_ended().attempt(), 2);
  EXPECT_EQ(ended.task_ended().exit().message(), "gone");
}

TEST(ExecutorMessagesTest, AHeartbeatSaysWhenItWasSent) {
  const TimePoint sent{std::chrono::seconds(9)};
  EXPECT_EQ(HeartbeatMessage(sent).heartbeat().sent(), 9'000'000'000);
  EXPECT_FALSE(HeartbeatMessage(sent).heartbeat().has_usage());
}

TEST(ExecutorMessagesTest, TextThatIsNotUtf8CanBeSent) {
  std::string bytes;
  EXPECT_TRUE(PortTakenMessage(1, 1000, "ssh\xff").SerializeToString(&bytes));
  EXPECT_EQ(PortTakenMessage(1, 1000, "ssh\xff").port_taken().port(), 1000);
  v1::ExecutorMessage read;
  EXPECT_TRUE(read.ParseFromString(bytes));
  EXPECT_TRUE(TaskNoteMessage("lost \xfe").SerializeToString(&bytes));
  EXPECT_TRUE(read.ParseFromString(bytes));
}

}  // namespace
}  // namespace tony::executor
