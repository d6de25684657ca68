// The frames' bytes, and what is refused before anything is kept for it.
#include "feed/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "feed/frame_intake.h"
#include "feed/hello.h"

namespace tony::feed {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kSlotBytes = 1 << 20;

TEST(Frame, IsReadAsItIsWritten) {
  const FrameHeader header{.length = 3, .type = FrameType::kBatch, .encoding = 7, .argument = 300};
  const std::string bytes = FormatFrame(header, "abc");
  EXPECT_EQ(bytes, std::string("\x03\0\0\0\x02\x07\0\0\x2c\x01\0\0\0\0\0\0abc", 19));
  EXPECT_EQ(ParseHeader(bytes.data(), Peer::kProducer, kSlotBytes).value(), header);
  EXPECT_EQ(ReadLittleEndian64(LittleEndian64(0x1122334455667788).data()), 0x1122334455667788u);
}

TEST(Frame, LengthsHaveHardLimits) {
  const auto parse = [](FrameType type, uint32_t length, Peer peer) {
    const std::string bytes = FormatHeader({.length = length, .type = type});
    return ParseHeader(bytes.data(), peer, kSlotBytes).status();
  };
  EXPECT_TRUE(parse(FrameType::kBatch, kSlotBytes, Peer::kProducer).ok());
  EXPECT_THAT(std::string(parse(FrameType::kBatch, kSlotBytes + 1, Peer::kProducer).message()),
              HasSubstr("tony.feed.buffer"));
  EXPECT_FALSE(parse(FrameType::kBatch, 0xffffffff, Peer::kProducer).ok());
  EXPECT_TRUE(parse(FrameType::kHello, kMostControlBytes, Peer::kProducer).ok());
  EXPECT_FALSE(parse(FrameType::kHello, kMostControlBytes + 1, Peer::kProducer).ok());
  EXPECT_TRUE(parse(FrameType::kProgramResult, kSlotBytes + 8, Peer::kProgram).ok());
  EXPECT_FALSE(parse(FrameType::kProgramResult, kSlotBytes + 9, Peer::kProgram).ok());
  EXPECT_FALSE(parse(FrameType::kRelease, kMostControlBytes + 1, Peer::kProgram).ok());
}

TEST(Frame, EachSideSendsItsOwnFrames) {
  for (int type = 0; type < 256; ++type) {
    const std::string bytes = FormatHeader({.type = static_cast<FrameType>(type)});
    const bool producer = ParseHeader(bytes.data(), Peer::kProducer, kSlotBytes).ok();
    const bool program = ParseHeader(bytes.data(), Peer::kProgram, kSlotBytes).ok();
    EXPECT_EQ(producer, type >= 1 && type <= 3) << type;
    EXPECT_EQ(program, type >= 32 && type <= 36) << type;
  }
}

TEST(Frame, ReservedBytesAreZero) {
  std::string bytes = FormatHeader({.type = FrameType::kEnd});
  bytes[6] = 1;
  EXPECT_FALSE(ParseHeader(bytes.data(), Peer::kProducer, kSlotBytes).ok());
}

TEST(FrameIntake, KeepsOnlyWhatHasArrived) {
  std::vector<std::string> payloads;
  FrameIntake intake(Peer::kProducer, kSlotBytes,
                     {[](const FrameHeader&) { return nullptr; },
                      [&](const FrameHeader&, std::string payload) {
                        payloads.push_back(std::move(payload));
                        return absl::OkStatus();
                      }});
  const std::string bytes = FormatFrame({.type = FrameType::kHello}, std::string(40'000, 'x')) +
                            FormatFrame({.type = FrameType::kEnd}, "");
  size_t largest = 0;
  for (size_t at = 0; at < bytes.size();) {
    const FrameIntake::Room room = intake.Next();
    ASSERT_GT(room.size, 0u);
    largest = std::max(largest, room.size);
    const size_t piece = std::min({room.size, bytes.size() - at, size_t{1000}});
    bytes.copy(room.data, piece, at);
    at += piece;
    ASSERT_TRUE(intake.Took(piece).ok());
  }
  EXPECT_LE(largest, 16u * 1024);
  EXPECT_EQ(payloads, (std::vector<std::string>{std::string(40'000, 'x'), ""}));
  EXPECT_TRUE(intake.between_frames());
}

TEST(FrameIntake, ABatchGoesStraightToItsPlace) {
  std::string place(5, '.');
  FrameIntake intake(Peer::kProducer, kSlotBytes,
                     {[&](const FrameHeader&) { return place.data(); },
                      [](const FrameHeader&, const std::string& payload) {
                        return payload.empty() ? absl::OkStatus()
                                               : absl::InternalError("kept twice");
                      }});
  const std::string bytes = FormatFrame({.type = FrameType::kBatch, .argument = 1}, "12345");
  for (const char byte : bytes) {
    *intake.Next().data = byte;
    ASSERT_TRUE(intake.Took(1).ok());
  }
  EXPECT_EQ(place, "12345");
}

TEST(Hello, IsReadWithItsDefaults) {
  const Hello hello = ParseHello(R"({"token":"t","feed":"train","schema":{"x":[1]}})").value();
  EXPECT_EQ(hello.token, "t");
  EXPECT_EQ(hello.partition, (core::FeedPartition{"train", 0, 0}));
  EXPECT_EQ(hello.schema, R"({"x":[1]})");
  EXPECT_FALSE(hello.results);
}

// Nested as deep as a HELLO has room for, behind a string that closes as many brackets.
std::string DeepHello(const std::string& text) {
  constexpr size_t kDepth = 21'000;
  return R"({"token":"t","feed":"a","schema":[")" + text + std::string(kDepth, ']') + "\"," +
         std::string(kDepth, '[') + std::string(kDepth, ']') + "]}";
}

TEST(Hello, IsRefusedIfDeepWhateverItsStringsHold) {
  for (const char* text : {"", "\\\"", "\\\\\\\""}) {
    const absl::StatusOr<Hello> hello = ParseHello(DeepHello(text));
    EXPECT_THAT(std::string(hello.status().message()), HasSubstr("no JSON object")) << text;
  }
}

TEST(Hello, MayHaveBracketsInItsStrings) {
  const std::string name(100, '[');
  const Hello hello =
      ParseHello(R"({"token":"t","feed":"a","schema":{")" + name + R"(":"\\"}})").value();
  EXPECT_EQ(hello.schema, "{\"" + name + R"(":"\\"})");
}

TEST(Hello, NamesTheFieldThatIsWrong) {
  for (const auto& [json, says] : std::map<std::string, std::string>{
           {"", "no JSON object"},
           {"[]", "no JSON object"},
           {"{}", "token"},
           {R"({"token":1,"feed":"a"})", "token"},
           {R"({"token":"t"})", "feed"},
           {R"({"token":"t","feed":"a b"})", "feed"},
           {R"({"token":"t","feed":"a","epoch":-1})", "epoch"},
           {R"({"token":"t","feed":"a","partition":1.5})", "partition"},
           {R"({"token":"t","feed":"a","partition":18446744073709551615})", "partition"},
           {R"({"token":"t","feed":"a","results":1})", "results"},
           {R"({"token":"t","feed":"a","timeout_ms":1e99})", "timeout_ms"},
           {R"({"token":"t","feed":"a","schema":)" + std::string(40'000, '['), "no JSON object"}}) {
    EXPECT_THAT(std::string(ParseHello(json).status().message()), HasSubstr(says)) << json;
  }
}

}  // namespace
}  // namespace tony::feed
