// Frames and messages: where they are cut, and what lies about its length.
#include "hadoop/base/wire_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "hadoop/common/rpc.pb.h"

namespace tony::hadoop {
namespace {

using ::hadoop::common::RpcResponseHeaderProto;
using ::testing::HasSubstr;

constexpr size_t kLimit = 1000;

RpcResponseHeaderProto Header() {
  RpcResponseHeaderProto header;
  header.set_callid(7);
  header.set_status(RpcResponseHeaderProto::SUCCESS);
  return header;
}

void Append(FrameReader& reader, const std::string& bytes) {
  reader.Append(bytes.data(), bytes.size());
}

TEST(EncodeFrame, LengthsAreFourBytesTheHighestFirst) {
  EXPECT_EQ(EncodeFrame({}, std::string(0x01'02'03, 'x')).substr(0, 6),
            std::string("\0\x01\x02\x03xx", 6));
}

TEST(EncodeFrame, CanBeCutFromAStreamWhereverItsPiecesEnd) {
  const auto header = Header();
  const std::string stream =
      EncodeFrame({&header}) + EncodeFrame({}) + EncodeFrame({&header, &header}, "tail");
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    FrameReader reader(kLimit, "Hadoop's RPC");
    std::vector<size_t> sizes;
    for (size_t at = 0; at < stream.size(); at += piece) {
      Append(reader, stream.substr(at, piece));
      for (auto frame = reader.Next(); frame.ok() && frame->has_value(); frame = reader.Next()) {
        sizes.push_back((*frame)->size());
      }
    }
    const size_t message = Delimited(header).size();
    EXPECT_THAT(sizes, testing::ElementsAre(message, 0, 2 * message + 4)) << piece;
  }
}

TEST(MessageReader, RefusesLengthsThatLie) {
  for (const std::string& frame : {std::string("\x05"
                                               "abc"),
                                   std::string("\xff\xff\xff\xff\x0f"),
                                   std::string("\xff\xff\xff\xff\xff\xff"), std::string("\x80")}) {
    MessageReader reader(frame);
    EXPECT_TRUE(absl::IsDataLoss(reader.Bytes().status())) << frame.size();
  }
}

TEST(MessageReader, RefusesAMessageThatLacksWhatItNeeds) {
  const std::string frame = DelimitedBytes("");
  MessageReader reader(frame);
  RpcResponseHeaderProto header;
  const absl::Status status = reader.Read(&header);
  ASSERT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("hadoop.common.RpcResponseHeaderProto"));
}

TEST(MessageReader, TakesNothingForAnEmptyMessage) {
  const std::string frame;
  MessageReader reader(frame);
  EXPECT_TRUE(reader.AtEnd());
  EXPECT_EQ(*reader.Bytes(), "");
}

// Whatever arrives, reading ends, with a message or with DataLoss.
TEST(MessageReader, SurvivesAnything) {
  std::mt19937 random(1);
  const auto header = Header();
  const std::string stream = EncodeFrame({&header, &header}, DelimitedBytes("body"));
  size_t lost = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = stream + stream;
    for (uint32_t change = random() % 4; change > 0; --change) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    bytes.resize(random() % (bytes.size() + 1));
    FrameReader frames(kLimit, "Hadoop's RPC");
    Append(frames, bytes);
    for (auto frame = frames.Next();; frame = frames.Next()) {
      if (!frame.ok() || !frame->has_value()) break;
      MessageReader reader(**frame);
      RpcResponseHeaderProto message;
      while (!reader.AtEnd()) {
        const absl::Status status = reader.Read(&message);
        if (status.ok()) continue;
        ASSERT_TRUE(absl::IsDataLoss(status));
        ++lost;
        break;
      }
    }
  }
  EXPECT_GT(lost, 1000);
}

}  // namespace
}  // namespace tony::hadoop
