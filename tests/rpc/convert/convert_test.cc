// The core's data to the wire and back, in protobuf's own form.
#include "rpc/convert/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rpc/convert/utf8.h"
#include "tests/rpc/every_event.h"

namespace tony::rpc {
namespace {

using ::testing::HasSubstr;

constexpr char kBroken[] = "caf\xE9 \xFF\xC0\x80 \xED\xA0\x80";

// Through the bytes, since a string that is not UTF-8 is noticed by the reader only.
absl::StatusOr<core::JobEvent> ThroughTheWire(const core::JobEvent& event) {
  v1::JobEvent received;
  if (!received.ParseFromString(ToProto(event).SerializeAsString())) {
    return absl::DataLossError("the bytes cannot be read");
  }
  return FromProto(received);
}

void ExpectSame(const core::JobEventBody& sent, const core::JobEventBody& expected) {
  const absl::StatusOr<core::JobEvent> received = ThroughTheWire({12, 1'700'000'000'123, sent});
  ASSERT_TRUE(received.ok()) << received.status() << ", kind " << sent.index();
  EXPECT_TRUE(*received == core::JobEvent({12, 1'700'000'000'123, expected}))
      << "kind " << sent.index();
}

TEST(ConvertTest, TheSamplesAreOfEveryKind) {
  for (const auto& bodies : {FullBodies("x"), BareBodies()}) {
    ASSERT_EQ(bodies.size(), std::variant_size_v<core::JobEventBody>);
    for (size_t i = 0; i < bodies.size(); ++i) EXPECT_EQ(bodies[i].index(), i);
  }
}

TEST(ConvertTest, EveryKindOfEventComesBack) {
  for (const core::JobEventBody& body : FullBodies("h\xC3\xA9llo \"w\"\n\\ {}")) {
    ExpectSame(body, body);
  }
  for (const core::JobEventBody& body : BareBodies()) ExpectSame(body, body);
  for (const core::JobEventBody& body : FullBodies("")) ExpectSame(body, body);
}

TEST(ConvertTest, BytesThatAreNotUtf8AreReplacedInEveryString) {
  const auto sent = FullBodies(kBroken);
  const auto expected = FullBodies(ToUtf8(kBroken));
  for (size_t i = 0; i < sent.size(); ++i) ExpectSame(sent[i], expected[i]);
}

TEST(ConvertTest, AnExecutorMaySayHowLongAgoTheEndWas) {
  core::TaskExit exit = FullExit("x");
  for (const int64_t ago : {-1, 0, 1'500}) {
    exit.ended_ago_millis = ago;
    EXPECT_EQ(FromProto(ToProto(exit)), exit) << ago;
  }
  v1::TaskExit wrong;
  wrong.set_ended_ago_millis(-7);
  EXPECT_EQ(FromProto(wrong).ended_ago_millis, 0) << "nothing ends in the future";
}

TEST(ConvertTest, EveryStateOfJobAndTaskComesBack) {
  for (int i = 0; i <= static_cast<int>(core::JobState::kEnded); ++i) {
    const core::JobEventBody body = core::JobStateChanged{static_cast<core::JobState>(i), 1, ""};
    ExpectSame(body, body);
  }
  for (int i = 0; i <= static_cast<int>(core::TaskState::kStopped); ++i) {
    core::TaskChanged change;
    change.state = static_cast<core::TaskState>(i);
    change.containment = "namespace";
    change.log_url = "http://node:8042/node/containerlogs/c1/ann";
    ExpectSame(change, change);
  }
}

TEST(ConvertTest, EveryVerdictComesBackWithItsExitCode) {
  for (int reason = 0; reason <= static_cast<int>(core::Reason::kMasterStopped); ++reason) {
    for (const core::Outcome outcome :
         {core::Outcome::kSucceeded, core::Outcome::kFailed, core::Outcome::kKilled}) {
      const core::Verdict verdict{outcome, static_cast<core::Reason>(reason), "", {}, {}};
      ExpectSame(core::JobEnded{verdict}, core::JobEnded{verdict});
      const v1::JobEvent proto = ToProto(core::JobEvent{1, 1, core::JobEnded{verdict}});
      EXPECT_EQ(proto.ended().verdict().exit_code(), core::ExitCode(verdict));
    }
  }
}

TEST(ConvertTest, EveryCauseOfAnEndComesBack) {
  using Cause = core::TaskExit::Cause;
  for (const Cause cause : {Cause::kExited, Cause::kSignaled, Cause::kNotStarted, Cause::kTimedOut,
                            Cause::kOutOfMemory, Cause::kLost, Cause::kStopped}) {
    core::TaskExit exit;
    exit.cause = cause;
    EXPECT_TRUE(FromProto(ToProto(exit)) == exit);
  }
}

TEST(ConvertTest, AnEndOfAnUnknownCauseIsNoSuccess) {
  v1::TaskExit proto;
  EXPECT_EQ(FromProto(proto).cause, core::TaskExit::Cause::kLost);
  proto.set_cause(static_cast<v1::TaskExit::Cause>(99));
  EXPECT_EQ(FromProto(proto).cause, core::TaskExit::Cause::kLost);
  EXPECT_FALSE(FromProto(proto).ok());
}

TEST(ConvertTest, AClusterSpecComesBackInItsOrder) {
  core::ClusterSpec spec;
  spec.endpoints = {{{"worker", 1}, "10.0.0.1", 4711, "host-a", "0,1", false},
                    {{"tensorboard", 0}, "fe80::1", 1, "host-b", "", true},
                    {}};
  v1::ClusterSpec received;
  ASSERT_TRUE(received.ParseFromString(ToProto(spec).SerializeAsString()));
  EXPECT_TRUE(FromProto(received) == spec);
  EXPECT_TRUE(FromProto(ToProto(core::ClusterSpec{})) == core::ClusterSpec{});
}

TEST(ConvertTest, WhatThisVersionDoesNotKnowIsRefusedByName) {
  v1::JobEvent empty;
  EXPECT_EQ(FromProto(empty).status().code(), absl::StatusCode::kInvalidArgument);

  v1::JobEvent state;
  state.mutable_state_changed()->set_state("DREAMING");
  EXPECT_EQ(FromProto(state).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(FromProto(state).status().message()), HasSubstr("DREAMING"));

  v1::JobEvent task;
  task.mutable_task_changed()->set_state("ASLEEP");
  EXPECT_EQ(FromProto(task).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(FromProto(task).status().message()), HasSubstr("ASLEEP"));

  v1::JobEvent reason = ToProto(core::JobEvent{1, 1, core::JobEnded{}});
  reason.mutable_ended()->mutable_verdict()->set_reason("BOREDOM");
  EXPECT_EQ(FromProto(reason).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(FromProto(reason).status().message()), HasSubstr("BOREDOM"));

  v1::JobEvent outcome = ToProto(core::JobEvent{1, 1, core::JobEnded{}});
  outcome.mutable_ended()->mutable_verdict()->set_outcome("SHRUGGED");
  EXPECT_EQ(FromProto(outcome).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ConvertTest, TheFirstEventSaysWhichSchemaItIs) {
  const v1::JobEvent proto = ToProto(core::JobEvent{1, 1, core::JobSubmitted{}});
  EXPECT_EQ(proto.submitted().schema_version(), core::kJobEventVersion);
}

}  // namespace
}  // namespace tony::rpc
