// An endpoint on its own thread, with producers and programs that are real connections, and the
// table of leases that the ApplicationMaster has.
#include "feed/endpoint.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <set>
#include <vector>

#include "os/machine/resident_memory.h"
#include "tests/feed/endpoint_fixture.h"

namespace tony::feed {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

TEST_F(EndpointTest, APartitionIsFedAndAcknowledged) {
  Start();
  FeedPeer program = Program();
  FeedPeer producer = Producer();
  SayHello(producer, 3, R"(,"schema":{"x":"f4"})");
  SendBatch(producer, "hello", 2);
  producer.Send(FrameType::kEnd, 2);
  const Received open = program.Next();
  EXPECT_EQ(open.header.type, FrameType::kOpen);
  EXPECT_EQ(open.payload,
            R"({"epoch":0,"partition":3,"attempt":0,"results":false,"schema":{"x":"f4"}})");
  const Received slot = program.Next();
  ASSERT_EQ(slot.header.type, FrameType::kSlot);
  EXPECT_EQ(slot.header.encoding, 5);
  EXPECT_EQ(slot.payload,
            LittleEndian64(open.header.argument) + LittleEndian32(5) + LittleEndian32(2));
  const size_t size = kSlots * size_t{kSlotBytes};
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, program.fd(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  EXPECT_EQ(std::string(static_cast<char*>(memory) + slot.header.argument * kSlotBytes, 5),
            "hello");
  EXPECT_EQ(::fcntl(program.fd(), F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  ::munmap(memory, size);
  EXPECT_EQ(program.Next().header.type, FrameType::kClosed);
  program.Send(FrameType::kRelease, slot.header.argument);
  const Received ack = producer.NextButCredit();
  EXPECT_EQ(ack.header.type, FrameType::kAck);
  EXPECT_EQ(ack.header.argument, 2u);
  EXPECT_EQ(View().acknowledged, 1u);
  FeedPeer retry = Producer();
  SayHello(retry, 3);
  EXPECT_EQ(retry.Next().header.type, FrameType::kSkip);
}

// Nobody releases anything, so there are as many batches as slots.
TEST_F(EndpointTest, CreditsNeverExceedTheSlots) {
  Start();
  FeedPeer program = Program();
  FeedPeer producer = Producer();
  SayHello(producer, 0);
  for (uint32_t batch = 0; batch < kSlots; ++batch) SendBatch(producer, "x", 1);
  ASSERT_EQ(program.Next().header.type, FrameType::kOpen);
  std::set<uint64_t> slots;
  for (uint32_t batch = 0; batch < kSlots; ++batch) {
    const Received frame = program.Next();
    ASSERT_EQ(frame.header.type, FrameType::kSlot);
    slots.insert(frame.header.argument);
  }
  EXPECT_EQ(slots.size(), kSlots);
  EXPECT_EQ(producer.credits, 0u);
  producer.Send(FrameType::kBatch, 1, "one too many");
  const Received error = producer.NextButCredit();
  EXPECT_EQ(error.header.type, FrameType::kError);
  EXPECT_THAT(error.payload, HasSubstr("without a credit"));
  EXPECT_EQ(producer.credits, 0u);
}

TEST_F(EndpointTest, AStalledProducerHindersNobody) {
  Start();
  FeedPeer program = Program();
  FeedPeer stalled = Producer();
  SayHello(stalled, 0);
  ASSERT_EQ(stalled.Next().header.type, FrameType::kCredit);
  // It stops in the middle of a frame.
  stalled.SendBytes(FormatHeader({.length = 1000, .type = FrameType::kBatch, .argument = 1}) + "x");
  FeedPeer producer = Producer();
  SayHello(producer, 1);
  ASSERT_EQ(program.Next().header.type, FrameType::kOpen);
  ASSERT_EQ(program.Next().header.type, FrameType::kOpen);
  for (int batch = 0; batch < 100; ++batch) {
    SendBatch(producer, "data", 1);
    const Received slot = program.Next();
    ASSERT_EQ(slot.header.type, FrameType::kSlot);
    program.Send(FrameType::kRelease, slot.header.argument);
  }
  producer.Send(FrameType::kEnd, 100);
  EXPECT_EQ(producer.NextButCredit().header.type, FrameType::kAck);
}

// Many partitions, half of whose producers die in mid frame: no slot is lost.
TEST_F(EndpointTest, DeadProducersLeakNoSlot) {
  Start();
  FeedPeer program = Program();
  for (int turn = 0; turn < 3 * static_cast<int>(kSlots); ++turn) {
    {
      FeedPeer dies = Producer();
      SayHello(dies, 7);
      SendBatch(dies, "x", 1);
      dies.SendBytes(FormatHeader({.length = 9, .type = FrameType::kBatch, .argument = 1}) + "y");
      ASSERT_EQ(program.Next().header.type, FrameType::kOpen);
      const Received slot = program.Next();
      ASSERT_EQ(slot.header.type, FrameType::kSlot);
      program.Send(FrameType::kRelease, slot.header.argument);
    }
    const Received closed = program.Next();
    ASSERT_EQ(closed.header.type, FrameType::kClosed);
    ASSERT_EQ(closed.header.encoding, kBrokenOff);
  }
  FeedPeer last = Producer();
  SayHello(last, 7);
  uint64_t given = 0;
  for (int batch = 0; batch < 40; ++batch) {
    SendBatch(last, "z", 1);
    ++given;
    Received slot = program.Next();
    if (slot.header.type == FrameType::kOpen) slot = program.Next();
    ASSERT_EQ(slot.header.type, FrameType::kSlot);
    program.Send(FrameType::kRelease, slot.header.argument);
  }
  last.Send(FrameType::kEnd, given);
  EXPECT_EQ(last.NextButCredit().header.type, FrameType::kAck);
}

TEST_F(EndpointTest, ADeadProgramIsToldToProducersAtOnce) {
  Start();
  FeedPeer program = Program();
  FeedPeer producer = Producer();
  SayHello(producer, 0);
  SendBatch(producer, "x", 1);
  ASSERT_EQ(program.Next().header.type, FrameType::kOpen);
  FeedPeer waiting = Producer();
  program.Close();
  const Received away = producer.NextButCredit();
  EXPECT_EQ(away.header.type, FrameType::kAway);
  EXPECT_THAT(away.payload, HasSubstr("worker:0"));
  // The retry is served by the next program, with the whole partition.
  FeedPeer retry = Producer();
  SayHello(retry, 0);
  FeedPeer next = Program();
  SendBatch(retry, "x", 1);
  retry.Send(FrameType::kEnd, 1);
  ASSERT_EQ(next.Next().header.type, FrameType::kOpen);
  const Received slot = next.Next();
  next.Send(FrameType::kRelease, slot.header.argument);
  EXPECT_EQ(retry.NextButCredit().header.type, FrameType::kAck);
  EXPECT_EQ(View().acknowledged, 1u);
  EXPECT_EQ(View().leased, 0u);
}

TEST_F(EndpointTest, WhoeverComesBetweenTwoProgramsHearsWhy) {
  Start();
  endpoint_->Post([](Endpoint& endpoint) {
    endpoint.OnProgramEnded("The program of worker:0 exited with code 1");
  });
  FeedPeer producer = Producer();
  SayHello(producer, 0);
  const Received away = producer.Next();
  EXPECT_EQ(away.header.type, FrameType::kAway);
  EXPECT_EQ(away.payload, "The program of worker:0 exited with code 1");
}

TEST_F(EndpointTest, TerminateStopsProducersAndLaterOnes) {
  Start();
  FeedPeer program = Program();
  FeedPeer producer = Producer();
  SayHello(producer, 0);
  SendBatch(producer, "x", 1);
  program.Send(FrameType::kTerminate);
  EXPECT_EQ(producer.NextButCredit().header.type, FrameType::kStop);
  FeedPeer late = Producer();
  SayHello(late, 1);
  EXPECT_EQ(late.Next().header.type, FrameType::kStop);
  while (true) {
    const Received frame = program.Next();
    if (frame.header.type == FrameType::kEnded) break;
    ASSERT_NE(frame.header.type, FrameType{0});
  }
}

TEST_F(EndpointTest, TheEndOfAFeedIsToldToPrograms) {
  Start();
  FeedPeer program = Program();
  EndFeed();
  EXPECT_EQ(program.Next().header.type, FrameType::kEnded);
  program.Close();
  // Also to one that comes later.
  FeedPeer producer = Producer();
  SayHello(producer, 0);
  EXPECT_EQ(producer.Next().header.type, FrameType::kStop);
}

// The ApplicationMaster is lost between the order to end the feed and the end of the last lease.
TEST_F(EndpointTest, AnOrderedEndOutlivesTheApplicationMaster) {
  Start();
  FeedPeer program = Program();
  FeedPeer producer = Producer();
  SayHello(producer, 0);
  SendBatch(producer, "x", 1);
  ASSERT_EQ(program.Next().header.type, FrameType::kOpen);
  const Received slot = program.Next();
  EndFeed();
  ReplaceMaster();
  FeedPeer late = Producer();
  SayHello(late, 1);
  EXPECT_EQ(late.Next().header.type, FrameType::kStop);
  producer.Send(FrameType::kEnd, 1);
  program.Send(FrameType::kRelease, slot.header.argument);
  EXPECT_EQ(producer.NextButCredit().header.type, FrameType::kAck);
  EXPECT_EQ(program.Next().header.type, FrameType::kClosed);
  EXPECT_EQ(program.Next().header.type, FrameType::kEnded);
}

TEST_F(EndpointTest, TwoFeedsDoNotMix) {
  Start();
  FeedPeer train = Program("train");
  FeedPeer validation = Program("validation");
  FeedPeer one = Producer();
  FeedPeer other = Producer();
  SayHello(one, 0);
  SayHello(other, 0, "", "secret", "validation");
  SendBatch(other, "v", 1);
  SendBatch(one, "t", 2);
  for (const auto& [program, rows] : {std::pair{&train, 2}, std::pair{&validation, 1}}) {
    EXPECT_EQ(program->Next().header.type, FrameType::kOpen);
    EXPECT_EQ(program->Next().payload.substr(12), LittleEndian32(static_cast<uint32_t>(rows)));
  }
}

TEST_F(EndpointTest, OnlyOneProgramIsAttached) {
  Start();
  FeedPeer program = Program();
  FeedPeer second(endpoint_->program_path());
  second.Send(FrameType::kAttach, kVersion, R"({"feed":"train"})");
  const Received error = second.Next();
  EXPECT_EQ(error.header.type, FrameType::kProgramError);
  EXPECT_THAT(error.payload, HasSubstr("another program"));
}

TEST_F(EndpointTest, AWrongTokenIsRefused) {
  Start();
  FeedPeer program = Program();
  FeedPeer stranger = Producer();
  SayHello(stranger, 0, "", "wrong");
  const Received error = stranger.Next();
  EXPECT_EQ(error.header.type, FrameType::kError);
  EXPECT_THAT(error.payload, HasSubstr("token"));
  EXPECT_EQ(stranger.Next().header.type, FrameType{0});
}

TEST_F(EndpointTest, NothingIsTakenBeforeHello) {
  Start();
  for (const std::string& bytes :
       {FormatFrame({.type = FrameType::kBatch, .argument = 1}, "x"),
        FormatFrame({.type = FrameType::kEnd}, ""),
        FormatFrame({.type = FrameType::kHello, .argument = 2}, "{}"),
        FormatHeader({.length = 0xffffffff, .type = FrameType::kHello, .argument = 1}),
        FormatFrame({.type = FrameType::kRelease}, "")}) {
    FeedPeer stranger = Producer();
    stranger.SendBytes(bytes);
    EXPECT_EQ(stranger.Next().header.type, FrameType::kError);
  }
}

TEST_F(EndpointTest, AProgramCannotReleaseWhatItDoesNotHave) {
  Start();
  for (const uint64_t slot : {uint64_t{0}, uint64_t{kSlots}, ~uint64_t{0}}) {
    FeedPeer program = Program();
    program.Send(FrameType::kRelease, slot);
    EXPECT_EQ(program.Next().header.type, FrameType::kProgramError) << slot;
  }
}

TEST_F(EndpointTest, ASilentStrangerIsSentAway) {
  setting_.hello = milliseconds(30);
  Start();
  FeedPeer stranger = Producer();
  stranger.SendBytes("x");
  EXPECT_EQ(stranger.Next().header.type, FrameType::kError);
}

/// A TCP connection to the endpoint's port that says nothing.
os::UniqueFd SilentStranger(int port) {
  os::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
            0);
  return socket;
}

bool IsClosed(const os::UniqueFd& socket) {
  pollfd wait{socket.get(), POLLIN, 0};
  char byte = 0;
  return ::poll(&wait, 1, 30'000) == 1 && ::recv(socket.get(), &byte, 1, MSG_DONTWAIT) <= 0;
}

TEST_F(EndpointTest, TheOldestStrangerGivesWayAndKeepsNobodyOut) {
  Start();
  std::vector<os::UniqueFd> strangers;
  for (size_t number = 0; number < 2 * Endpoint::kMostStrangers; ++number) {
    strangers.push_back(SilentStranger(endpoint_->tls_port()));
  }
  for (size_t number = 0; number < Endpoint::kMostStrangers; ++number) {
    ASSERT_TRUE(IsClosed(strangers[number])) << number;
  }
  FeedPeer program = Program();
  FeedPeer producer = Producer();
  SayHello(producer, 0);
  EXPECT_EQ(program.Next().header.type, FrameType::kOpen);
  pollfd newest{strangers.back().get(), POLLIN, 0};
  EXPECT_EQ(::poll(&newest, 1, 0), 0);
}

TEST_F(EndpointTest, ProducersLeaveRoomForTheProgram) {
  setting_.most_connections = core::kMostFeeds + 2;
  Start();
  std::vector<FeedPeer> producers;
  for (int number = 0; number < 3; ++number) {
    producers.push_back(Producer());
    SayHello(producers.back(), number);
  }
  EXPECT_EQ(producers.back().Next().header.type, FrameType{0});
  FeedPeer program = Program();
  EXPECT_EQ(program.Next().header.type, FrameType::kOpen);
  // A stranger never takes the place of one who is known, and gives way to one.
  EXPECT_TRUE(IsClosed(SilentStranger(endpoint_->tls_port())));
}

TEST_F(EndpointTest, ProducersHearThatTheEndpointLives) {
  setting_.alive = milliseconds(10);
  Start();
  FeedPeer waiting = Producer();
  SayHello(waiting, 0);
  EXPECT_EQ(waiting.Next().header.type, FrameType::kAlive);
  EXPECT_EQ(waiting.Next().header.type, FrameType::kAlive);
}

TEST_F(EndpointTest, AProgramThatTakesNothingIsNamed) {
  Start();
  FeedPeer program = Program();
  FeedPeer producer = Producer();
  SayHello(producer, 0, R"(,"timeout_ms":50)");
  SendBatch(producer, "x", 1);
  const Received error = producer.NextButCredit();
  EXPECT_EQ(error.header.type, FrameType::kError);
  EXPECT_THAT(error.payload, HasSubstr("worker:0 has taken no data of the feed train"));
}

// Its host hangs: the connection stays open. The speculative attempt of its partition gets on.
TEST_F(EndpointTest, AStalledProducerLosesItsLeaseToTheAttemptThatWaits) {
  Start();
  FeedPeer program = Program();
  FeedPeer stalled = Producer();
  SayHello(stalled, 0, R"(,"timeout_ms":50)");
  ASSERT_EQ(program.Next().header.type, FrameType::kOpen);
  FeedPeer speculative = Producer();
  SayHello(speculative, 0, R"(,"attempt":1)");
  SendBatch(speculative, "x", 1);
  const Received closed = program.Next();
  EXPECT_EQ(closed.header.type, FrameType::kClosed);
  EXPECT_EQ(closed.header.encoding, kBrokenOff);
  EXPECT_EQ(program.Next().header.type, FrameType::kOpen);
  EXPECT_EQ(program.Next().header.type, FrameType::kSlot);
  const Received error = stalled.NextButCredit();
  EXPECT_EQ(error.header.type, FrameType::kError);
  EXPECT_THAT(error.payload, HasSubstr("has sent nothing to worker:0"));
}

TEST_F(EndpointTest, AStalledProducerLosesItsPlaceToOneThatWaits) {
  Start();
  FeedPeer program = Program();
  FeedPeer stalled = Producer();
  SayHello(stalled, 0, R"(,"results":true,"timeout_ms":50)");
  ASSERT_EQ(program.Next().header.type, FrameType::kOpen);
  // It stops in the middle of a frame.
  stalled.SendBytes(FormatHeader({.length = 9, .type = FrameType::kBatch, .argument = 1}) + "x");
  FeedPeer next = Producer();
  SayHello(next, 1, R"(,"results":true,"timeout_ms":50)");
  EXPECT_EQ(program.Next().header.type, FrameType::kClosed);
  EXPECT_EQ(program.Next().header.type, FrameType::kOpen);
}

TEST_F(EndpointTest, AProducerThatIsInNobodysWayMayThink) {
  setting_.alive = milliseconds(120);
  Start();
  FeedPeer program = Program();
  FeedPeer producer = Producer();
  SayHello(producer, 0, R"(,"timeout_ms":200)");
  AwaitTicks(producer);
  producer.Send(FrameType::kBatch, 1, "x");
  EXPECT_EQ(program.Next().header.type, FrameType::kOpen);
  EXPECT_EQ(program.Next().header.type, FrameType::kSlot);
}

TEST_F(EndpointTest, AnApplicationMasterThatDoesNotAnswerIsNamed) {
  setting_.report = [](const core::FeedReport&) {};
  Start();
  FeedPeer program = Program();
  FeedPeer producer = Producer();
  SayHello(producer, 0, R"(,"timeout_ms":50)");
  const Received error = producer.Next();
  EXPECT_EQ(error.header.type, FrameType::kError);
  EXPECT_THAT(error.payload, HasSubstr("The ApplicationMaster has not answered worker:0"));
}

TEST_F(EndpointTest, ANewApplicationMasterLearnsWhatIsHeld) {
  Start();
  FeedPeer program = Program();
  FeedPeer done = Producer();
  SayHello(done, 0);
  ASSERT_EQ(done.Next().header.type, FrameType::kCredit);
  done.Send(FrameType::kEnd, 0);
  ASSERT_EQ(done.NextButCredit().header.type, FrameType::kAck);
  FeedPeer producer = Producer();
  SayHello(producer, 1);
  SendBatch(producer, "x", 1);
  ReplaceMaster();
  // The partition that was acknowledged is skipped, the held one goes on.
  FeedPeer retry = Producer();
  SayHello(retry, 0);
  EXPECT_EQ(retry.Next().header.type, FrameType::kSkip);
  producer.Send(FrameType::kEnd, 1);
  Received frame = program.Next();
  while (frame.header.type != FrameType::kSlot) frame = program.Next();
  program.Send(FrameType::kRelease, frame.header.argument);
  EXPECT_EQ(producer.NextButCredit().header.type, FrameType::kAck);
  EXPECT_EQ(View().acknowledged, 2u);
}

// A million records, in batches of ten, through a program that takes them one by one.
TEST_F(EndpointTest, AMillionRecordsNeedNoMoreThanTheSlots) {
  Start();
  FeedPeer program = Program();
  FeedPeer producer = Producer();
  SayHello(producer, 0);
  constexpr int kBatches = 100'000;
  const std::string data(200, 'r');
  int64_t before = 0;
  for (int batch = 0; batch < kBatches; ++batch) {
    SendBatch(producer, data, 10);
    Received slot = program.Next();
    if (slot.header.type == FrameType::kOpen) slot = program.Next();
    ASSERT_EQ(slot.header.type, FrameType::kSlot);
    program.Send(FrameType::kRelease, slot.header.argument);
    if (batch == 1000) before = os::ResidentBytes({::getpid()});
  }
  EXPECT_LT(os::ResidentBytes({::getpid()}) - before,
            int64_t{kSlots} * kSlotBytes + (int64_t{16} << 20));
  producer.Send(FrameType::kEnd, 10 * kBatches);
  EXPECT_EQ(producer.NextButCredit().header.type, FrameType::kAck);
}

}  // namespace
}  // namespace tony::feed
