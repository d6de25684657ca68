// Partitions whose rows are answered by results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <optional>

#include "tests/feed/endpoint_fixture.h"

namespace tony::feed {
namespace {

using ::testing::HasSubstr;

/// Rows that are to be answered.
class ResultsTest : public EndpointTest {
 protected:
  void FeedTwoRows() { FeedRows(2); }
  void FeedRows(uint64_t rows) {
    Start();
    program_.emplace(Program());
    producer_.emplace(Producer());
    SayHello(*producer_, 0, R"(,"results":true)");
    SendBatch(*producer_, "ab", rows);
    producer_->Send(FrameType::kEnd, rows);
    connection_ = program_->Next().header.argument;
    const Received slot = program_->Next();
    ASSERT_EQ(slot.header.type, FrameType::kSlot);
    slot_ = slot.header.argument;
    ASSERT_EQ(program_->Next().header.type, FrameType::kClosed);
  }
  /// Reads all results, and then ACK; returns the bytes of the results.
  size_t ReadToAck() {
    size_t bytes = 0;
    Received frame = producer_->NextButCredit();
    for (; frame.header.type == FrameType::kResult; frame = producer_->NextButCredit()) {
      bytes += frame.payload.size();
    }
    EXPECT_EQ(frame.header.type, FrameType::kAck) << frame.payload;
    return bytes;
  }
  void ExpectErrors(const std::string& says) {
    Received frame = producer_->NextButCredit();
    while (frame.header.type == FrameType::kResult) frame = producer_->NextButCredit();
    EXPECT_EQ(frame.header.type, FrameType::kError);
    EXPECT_THAT(frame.payload, HasSubstr(says));
    frame = program_->Next();
    EXPECT_EQ(frame.header.type, FrameType::kProgramError);
    EXPECT_THAT(frame.payload, HasSubstr(says));
    EXPECT_EQ(View().acknowledged, 0u);
  }

  std::optional<FeedPeer> program_;
  std::optional<FeedPeer> producer_;
  uint64_t connection_ = 0;
  uint64_t slot_ = 0;
};

TEST_F(ResultsTest, ComeInOrderAndPartitionsOneByOne) {
  Start();
  FeedPeer program = Program();
  FeedPeer one = Producer();
  SayHello(one, 0, R"(,"results":true)");
  const Received first = program.Next();
  ASSERT_EQ(first.header.type, FrameType::kOpen);
  FeedPeer other = Producer();
  SayHello(other, 1, R"(,"results":true)");
  SendBatch(one, "ab", 2);
  one.Send(FrameType::kEnd, 2);
  const Received slot = program.Next();
  ASSERT_EQ(slot.header.type, FrameType::kSlot);
  EXPECT_EQ(program.Next().header.type, FrameType::kClosed);
  program.Send(FrameType::kRelease, slot.header.argument);
  const std::string to = LittleEndian64(first.header.argument);
  program.Send(FrameType::kProgramResult, 1, to + "A", 3);
  program.Send(FrameType::kProgramResult, 1, to + "B", 3);
  const Received a = one.NextButCredit();
  EXPECT_EQ(a.header.type, FrameType::kResult);
  EXPECT_EQ(a.header.encoding, 3);
  EXPECT_EQ(a.payload, "A");
  EXPECT_EQ(one.NextButCredit().payload, "B");
  EXPECT_EQ(one.NextButCredit().header.type, FrameType::kAck);
  // The other partition follows only now.
  const Received second = program.Next();
  EXPECT_EQ(second.header.type, FrameType::kOpen);
  EXPECT_NE(second.header.argument, first.header.argument);
  program.Send(FrameType::kNext, first.header.argument);
  other.Send(FrameType::kEnd, 0);
  EXPECT_EQ(other.NextButCredit().header.type, FrameType::kAck);
}

// The results are more than a socket takes, so most of them wait in the endpoint.
TEST_F(ResultsTest, AreKeptForAReaderThatComesLongAfterTheLastOne) {
  setting_.buffer_bytes = kSlots * size_t{1 << 20};
  setting_.finish = setting_.alive = std::chrono::milliseconds(1);
  FeedTwoRows();
  const std::string half(400'000, 'r');
  for (int result = 0; result < 2; ++result) {
    program_->Send(FrameType::kProgramResult, 1, LittleEndian64(connection_) + half);
  }
  program_->Send(FrameType::kRelease, slot_);
  // The next partition is open, so the first one is acknowledged.
  FeedPeer next = Producer();
  SayHello(next, 1, R"(,"results":true)");
  ASSERT_EQ(program_->Next().header.type, FrameType::kOpen);
  AwaitTicks(next);
  EXPECT_EQ(ReadToAck(), 2 * half.size());
}

// The last result is the one for whose size the program is paused.
class SlowReaderTest : public ResultsTest {
 protected:
  static constexpr uint64_t kResults = 3;
  static constexpr size_t kResultBytes = 1'000'000;

  /// Returns when the endpoint has taken all results, and has looked at its connections after that.
  void AnswerRows() {
    setting_.buffer_bytes = kSlots * size_t{1 << 20};
    setting_.finish = setting_.alive = std::chrono::milliseconds(1);
    FeedRows(kResults);
    waiting_.emplace(Producer());
    SayHello(*waiting_, 1, R"(,"results":true)");
    program_->Send(FrameType::kRelease, slot_);
    for (uint64_t result = 0; result < kResults; ++result) {
      program_->Send(FrameType::kProgramResult, 1,
                     LittleEndian64(connection_) + std::string(kResultBytes, 'r'));
    }
    for (int unread = 1, ticks = 0; unread > 0 || ticks < 2;) {
      if (unread == 0) ++ticks;
      ASSERT_EQ(waiting_->Next().header.type, FrameType::kAlive);
      ASSERT_EQ(::ioctl(program_->socket(), SIOCOUTQ, &unread), 0);
    }
  }

  std::optional<FeedPeer> waiting_;
};

TEST_F(SlowReaderTest, DelaysTheNextPartitionAndThenTheProgramGoesOn) {
  AnswerRows();
  EXPECT_EQ(View().acknowledged, 0u);
  EXPECT_EQ(ReadToAck(), kResults * kResultBytes);
  const Received open = program_->Next();
  ASSERT_EQ(open.header.type, FrameType::kOpen);
  ASSERT_EQ(waiting_->NextButAlive().header.type, FrameType::kCredit);
  waiting_->Send(FrameType::kBatch, 1, "c");
  waiting_->Send(FrameType::kEnd, 1);
  const Received slot = program_->Next();
  ASSERT_EQ(slot.header.type, FrameType::kSlot);
  program_->Send(FrameType::kRelease, slot.header.argument);
  program_->Send(FrameType::kProgramResult, 1, LittleEndian64(open.header.argument) + "C");
  EXPECT_EQ(waiting_->NextButCredit().payload, "C");
  EXPECT_EQ(waiting_->NextButCredit().header.type, FrameType::kAck);
}

TEST_F(SlowReaderTest, HoldsNoProgramUpAfterItGotStop) {
  AnswerRows();
  endpoint_->Post(
      [](Endpoint& endpoint) { endpoint.OnOrder(core::feed_order::Terminated{"train"}); });
  ASSERT_EQ(program_->Next().header.type, FrameType::kEnded);
  program_->Send(FrameType::kRelease, 99);
  EXPECT_EQ(program_->Next().header.type, FrameType::kProgramError);
}

TEST_F(ResultsTest, TooManyAreAnErrorForBoth) {
  FeedTwoRows();
  program_->Send(FrameType::kProgramResult, 3, LittleEndian64(connection_) + "abc");
  ExpectErrors("more than 2 results for 2 rows");
}

TEST_F(ResultsTest, AnAbsurdNumberIsAnErrorForBoth) {
  FeedTwoRows();
  program_->Send(FrameType::kProgramResult, 1, LittleEndian64(connection_) + "a");
  program_->Send(FrameType::kProgramResult, ~uint64_t{0}, LittleEndian64(connection_) + "b");
  ExpectErrors("more than 2 results for 2 rows");
}

TEST_F(ResultsTest, TooFewAreAnErrorForBothWhenTheProgramGoesOn) {
  FeedTwoRows();
  program_->Send(FrameType::kProgramResult, 1, LittleEndian64(connection_) + "a");
  program_->Send(FrameType::kNext, connection_);
  ExpectErrors("1 results for 2 rows");
}

}  // namespace
}  // namespace tony::feed
