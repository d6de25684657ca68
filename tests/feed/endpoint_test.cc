// An endpoint on its own thread, with producers and programs that are real connections, and the
// table of leases that the ApplicationMaster has.
#include "feed/endpoint.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "core/feed/feed_table.h"
#include "feed/endpoint_thread.h"
#include "os/machine/resident_memory.h"
#include "rpc/security/certificate_authority.h"
#include "tests/feed/feed_peer.h"
#include "tests/os/temporary_folder.h"

namespace tony::feed {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr char kContainer[] = "c1";

/// An ApplicationMaster of one worker.
class EndpointTest : public ::testing::Test {
 protected:
  EndpointTest() {
    setting_.folder = folder_.path();
    setting_.task = "worker:0";
    setting_.token = "secret";
    setting_.buffer_bytes = 16 * kSlotBytes;
    setting_.credentials = rpc::CertificateAuthority::Create("job-1")
                               .value()
                               .Issue(rpc::ExecutorRole("job-1", kContainer))
                               .value();
    setting_.refusal = milliseconds(1);
    setting_.tick = milliseconds(20);
    setting_.report = [this](const core::FeedReport& report) { Take(report); };
  }

  void Start() {
    endpoint_ = EndpointThread::Start(setting_).value();
    endpoint_->Post([](Endpoint& endpoint) {
      endpoint.OnProgramStarted();
      endpoint.ReportAll();
    });
  }

  /// As the executor and the ApplicationMaster do, on the endpoint's thread.
  void Take(const core::FeedReport& report) {
    std::lock_guard lock(mutex_);
    for (const core::FeedTable::Effect& effect : table_->Apply(kContainer, report)) {
      if (effect.container != kContainer) continue;
      endpoint_->Post([order = effect.order](Endpoint& endpoint) { endpoint.OnOrder(order); });
    }
  }

  core::FeedTable::View View() {
    std::lock_guard lock(mutex_);
    const auto views = table_->Views();
    return views.empty() ? core::FeedTable::View{} : views[0];
  }

  FeedPeer Producer() const { return FeedPeer(endpoint_->producer_path()); }

  /// A program that is attached.
  FeedPeer Program(const std::string& feed = "train") {
    FeedPeer program(endpoint_->program_path());
    EXPECT_TRUE(
        program.Send(FrameType::kAttach, kVersion, absl::StrCat("{\"feed\":\"", feed, "\"}")));
    const Received attached = program.Next();
    EXPECT_EQ(attached.header.type, FrameType::kAttached) << attached.payload;
    EXPECT_EQ(attached.header.argument, kSlots);
    return program;
  }

  /// Sends one batch, once there is a credit.
  static void SendBatch(FeedPeer& producer, const std::string& data, uint64_t rows) {
    while (producer.credits == 0) {
      const Received frame = producer.Next();
      ASSERT_EQ(frame.header.type, FrameType::kCredit) << frame.payload;
      producer.credits += frame.header.argument;
    }
    --producer.credits;
    ASSERT_TRUE(producer.Send(FrameType::kBatch, rows, data, 5));
  }

  static constexpr uint32_t kSlotBytes = 64 * 1024;

  os::TemporaryFolder folder_;
  EndpointSetting setting_;
  std::mutex mutex_;
  std::optional<core::FeedTable> table_{core::FeedTable({}, TimePoint())};
  std::unique_ptr<EndpointThread> endpoint_;
};

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
  const Received error = producer.NextButCredit();
  EXPECT_EQ(error.header.type, FrameType::kError);
  EXPECT_THAT(error.payload, HasSubstr("worker:0"));
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
  const Received error = producer.Next();
  EXPECT_EQ(error.header.type, FrameType::kError);
  EXPECT_EQ(error.payload, "The program of worker:0 exited with code 1");
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
  std::unique_lock lock(mutex_);
  for (const auto& effect : table_->End("train").value()) {
    endpoint_->Post([order = effect.order](Endpoint& endpoint) { endpoint.OnOrder(order); });
  }
  lock.unlock();
  EXPECT_EQ(program.Next().header.type, FrameType::kEnded);
  program.Close();
  // Also to one that comes later.
  FeedPeer producer = Producer();
  SayHello(producer, 0);
  EXPECT_EQ(producer.Next().header.type, FrameType::kStop);
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

TEST_F(EndpointTest, ResultsComeInOrderAndPartitionsOneByOne) {
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

/// Feeds two rows with results; returns the connection.
class ResultsTest : public EndpointTest {
 protected:
  void FeedTwoRows() {
    Start();
    program_.emplace(Program());
    producer_.emplace(Producer());
    SayHello(*producer_, 0, R"(,"results":true)");
    SendBatch(*producer_, "ab", 2);
    producer_->Send(FrameType::kEnd, 2);
    connection_ = program_->Next().header.argument;
    ASSERT_EQ(program_->Next().header.type, FrameType::kSlot);
    ASSERT_EQ(program_->Next().header.type, FrameType::kClosed);
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
};

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

TEST_F(EndpointTest, ANewApplicationMasterLearnsWhatIsHeld) {
  Start();
  FeedPeer program = Program();
  FeedPeer done = Producer();
  SayHello(done, 0);
  done.Send(FrameType::kEnd, 0);
  // END belongs behind the first CREDIT.
  EXPECT_EQ(done.NextButCredit().header.type, FrameType::kError);
  FeedPeer again = Producer();
  SayHello(again, 0);
  ASSERT_EQ(again.Next().header.type, FrameType::kCredit);
  again.Send(FrameType::kEnd, 0);
  ASSERT_EQ(again.NextButCredit().header.type, FrameType::kAck);
  FeedPeer producer = Producer();
  SayHello(producer, 1);
  SendBatch(producer, "x", 1);
  {
    std::lock_guard lock(mutex_);
    table_.emplace(std::set<std::string>{kContainer}, TimePoint::max());
  }
  endpoint_->Post([](Endpoint& endpoint) { endpoint.ReportAll(); });
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
