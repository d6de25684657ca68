// Frames as gRPC carries them: their kind without parsing, and bytes without a copy.
#include "rpc/tunnel/tunnel_frame.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tony::rpc {
namespace {

using v1::TunnelFrame;

std::vector<grpc::Slice> SlicesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  return slices;
}

grpc::ByteBuffer BufferOf(const std::string& bytes, size_t slice_bytes) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += slice_bytes) {
    slices.emplace_back(bytes.substr(at, slice_bytes));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

/// One frame of each kind.
std::vector<TunnelFrame> EveryKind() {
  std::vector<TunnelFrame> frames(6);
  frames[0].mutable_open()->set_port(80);
  frames[1].mutable_answer()->set_refusal("no");
  frames[2].set_data(std::string(100'000, 'x'));
  frames[3].mutable_end();
  frames[4].mutable_log()->set_data("a line");
  frames[5].mutable_exec()->set_error_output("oh");
  return frames;
}

TEST(TunnelFrameTest, EveryKindIsKnownUnparsedAndComesBackAsItWas) {
  for (const TunnelFrame& frame : EveryKind()) {
    const std::string bytes = frame.SerializeAsString();
    const grpc::ByteBuffer ours = Serialize(frame);
    EXPECT_EQ(ours.Length(), bytes.size()) << frame.body_case();
    // The head of a frame may lie in several slices.
    for (const grpc::ByteBuffer& buffer : {ours, BufferOf(bytes, 1 << 20), BufferOf(bytes, 1)}) {
      EXPECT_EQ(KindOf(buffer), frame.body_case());
      const absl::StatusOr<TunnelFrame> parsed = ParseFrame(buffer);
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      EXPECT_TRUE(parsed->SerializeAsString() == bytes) << frame.body_case();
    }
  }
}

TEST(TunnelFrameTest, BytesBecomeAFrameWithoutACopy) {
  TunnelFrame frame;
  frame.set_data(std::string(100'000, 'x'));
  const void* const bytes = frame.data().data();
  const std::vector<grpc::Slice> slices = SlicesOf(Serialize(std::move(frame)));
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[1].begin(), bytes);
}

TEST(TunnelFrameTest, NoBytesAreAFrameToo) {
  TunnelFrame frame;
  frame.set_data("");
  EXPECT_EQ(KindOf(Serialize(frame)), TunnelFrame::kData);
}

// A receiver takes the last field of several, so the kind of the first one must not count.
TEST(TunnelFrameTest, SeveralFieldsAreNoFrame) {
  for (const TunnelFrame& first : EveryKind()) {
    for (const TunnelFrame& second : EveryKind()) {
      const std::string bytes = first.SerializeAsString() + second.SerializeAsString();
      EXPECT_EQ(KindOf(BufferOf(bytes, 1 << 20)), TunnelFrame::BODY_NOT_SET);
    }
  }
}

TEST(TunnelFrameTest, WhatIsCutOffOrElseIsNoFrame) {
  TunnelFrame frame;
  frame.set_data("some bytes");
  const std::string bytes = frame.SerializeAsString();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const grpc::ByteBuffer cut = BufferOf(bytes.substr(0, size), 1 << 20);
    EXPECT_EQ(KindOf(cut), TunnelFrame::BODY_NOT_SET) << size;
    EXPECT_EQ(ParseFrame(cut).ok(), size == 0) << size;
  }
  // A field of another encoding, an endless tag, and a length beyond 32 bits.
  for (const std::string& other : {std::string("\x18\x05"), std::string(20, '\xff'),
                                   std::string("\x1a\xff\xff\xff\xff\xff\xff\xff\xff\x7f")}) {
    EXPECT_EQ(KindOf(BufferOf(other, 1 << 20)), TunnelFrame::BODY_NOT_SET);
    EXPECT_EQ(KindOf(BufferOf(other, 1)), TunnelFrame::BODY_NOT_SET);
  }
}

}  // namespace
}  // namespace tony::rpc
