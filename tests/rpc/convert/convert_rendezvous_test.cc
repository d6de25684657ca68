// Messages between a rendezvous store and its replicas, there and back; and what is none.
#include "rpc/convert/convert_rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/frame_reader.h"
#include "tony/v1/rendezvous.pb.h"

namespace tony::rpc {
namespace {

using ::testing::HasSubstr;

std::string ContentOf(const std::string& bytes) {
  FrameReader reader(kMostRendezvousFrameBytes, "frames");
  reader.Append(bytes.data(), bytes.size());
  const auto frame = reader.Next();
  EXPECT_TRUE(frame.ok() && frame->has_value());
  const auto rest = reader.Next();
  EXPECT_TRUE(rest.ok() && !rest->has_value()) << "something comes after the frame";
  return **frame;
}

core::Blob Bytes(const std::string& text) { return std::make_shared<const std::string>(text); }

core::ReplicaRequest Back(const core::ReplicaRequest& request) {
  const auto back = ReplicaRequestIn(ContentOf(ToFrame(request)));
  EXPECT_TRUE(back.ok() && back->has_value()) << back.status();
  return **back;
}

core::ReplicaMessage Back(const core::ReplicaMessage& message) {
  const ReplicaFrame frame = ToFrame(message);
  const std::string value = frame.value == nullptr ? "" : *frame.value;
  const auto back = ReplicaMessageIn(ContentOf(frame.head + value));
  EXPECT_TRUE(back.ok()) << back.status();
  return *back;
}

TEST(ConvertRendezvousTest, WhatReplicasAskFor) {
  const std::string binary("\0\xff\n", 3);
  const auto put = std::get<core::ChangeRequest>(
      Back(core::ChangeRequest{7, core::PutValue{"s", "\xff", Bytes(binary)}}));
  EXPECT_EQ(put.id, 7U);
  EXPECT_EQ(std::get<core::PutValue>(put.change).scope, "s");
  EXPECT_EQ(std::get<core::PutValue>(put.change).key, "\xff");
  EXPECT_EQ(*std::get<core::PutValue>(put.change).value, binary);
  const auto remove =
      std::get<core::ChangeRequest>(Back(core::ChangeRequest{8, core::RemoveValue{"s", "k"}}));
  EXPECT_EQ(std::get<core::RemoveValue>(remove.change).key, "k");
  const auto asked = std::get<core::AskedFor>(Back(core::AskedFor{"rank_and_size", "a:0"}));
  EXPECT_EQ(asked.scope, "rank_and_size");
  EXPECT_EQ(asked.key, "a:0");
}

TEST(ConvertRendezvousTest, ASignOfLifeAsksForNothing) {
  const auto request = ReplicaRequestIn(ContentOf(SignOfLife()));
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_FALSE(request->has_value());
}

TEST(ConvertRendezvousTest, WhatReplicasAreTold) {
  EXPECT_EQ(std::get<core::SnapshotMark>(Back(core::ReplicaMessage(core::SnapshotMark::kBegin))),
            core::SnapshotMark::kBegin);
  EXPECT_EQ(std::get<core::SnapshotMark>(Back(core::ReplicaMessage(core::SnapshotMark::kEnd))),
            core::SnapshotMark::kEnd);
  const std::vector<core::Slot> plan = core::PlanSlots({{"a", 2}, {"b", 1}}, 3).value();
  const auto begin = std::get<core::StoreOperation>(
      Back(core::ReplicaMessage(core::StoreOperation(core::BeginRound{plan}))));
  EXPECT_EQ(std::get<core::BeginRound>(begin).plan, plan);
  const auto put = std::get<core::StoreOperation>(
      Back(core::ReplicaMessage(core::StoreOperation(core::PutValue{"s", "k", Bytes("")}))));
  EXPECT_EQ(*std::get<core::PutValue>(put).value, "");
  const auto done = std::get<core::ChangeDone>(
      Back(core::ReplicaMessage(core::ChangeDone{9, absl::ResourceExhaustedError("full")})));
  EXPECT_EQ(done.id, 9U);
  EXPECT_EQ(done.status, absl::ResourceExhaustedError("full"));
}

// Its value is sent from where it is, so the rest is not written by the library.
TEST(ConvertRendezvousTest, AValueIsInTheFrameWhateverItsLength) {
  for (const size_t length : {0, 1, 100, 127, 128, 16'000, 16'383, 16'384, 70'000, 3'000'000}) {
    const core::Blob value = Bytes(std::string(length, 'v'));
    const core::StoreOperation operation = core::PutValue{"scope", "key", value};
    EXPECT_EQ(ToFrame(core::ReplicaMessage(operation)).value, value) << "a copy";
    const auto back = std::get<core::StoreOperation>(Back(core::ReplicaMessage(operation)));
    const auto& put = std::get<core::PutValue>(back);
    EXPECT_EQ(put.scope, "scope");
    EXPECT_EQ(put.key, "key");
    EXPECT_TRUE(*put.value == *value) << length;
  }
}

TEST(ConvertRendezvousTest, AReplicaCannotBeginARound) {
  v1::ReplicaRequest request;
  request.mutable_change()->mutable_operation()->mutable_begin();
  const auto refused = ReplicaRequestIn(request.SerializeAsString());
  ASSERT_TRUE(absl::IsInvalidArgument(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("cannot begin a round"));
}

TEST(ConvertRendezvousTest, WhatIsNoMessageIsRefused) {
  v1::ReplicaRequest without_operation;
  without_operation.mutable_change()->set_id(1);
  for (const std::string& bytes :
       {std::string("\xff\xff"), without_operation.SerializeAsString()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ReplicaRequestIn(bytes).status()));
  }
  v1::ReplicaMessage empty_operation;
  empty_operation.mutable_operation();
  for (const std::string& bytes :
       {std::string(), std::string("\xff\xff"), empty_operation.SerializeAsString()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ReplicaMessageIn(bytes).status()));
  }
}

}  // namespace
}  // namespace tony::rpc
