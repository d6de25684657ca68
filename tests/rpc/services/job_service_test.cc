// Clients against the real server: following a job, owning it, stopping it.
#include "rpc/services/job_service.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>

#include <limits>
#include <list>
#include <string>
#include <thread>

#include "rpc/convert/convert.h"
#include "rpc/security/grpc_credentials.h"
#include "rpc/services/job_client.h"
#include "tests/rpc/master_fixture.h"

namespace tony::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A JobClient and what it hears. The client goes first.
struct Follower {
  Follower(const std::string& address, const Credentials& credentials)
      : client(address, credentials) {}

  void Follow(int64_t after_sequence, bool owner = false) {
    client.Follow(after_sequence, owner,
                  {[this](core::JobEvent event) { sequences.Push(event.sequence); },
                   [this](absl::Status status) { closed.Push(status); }});
  }

  Inbox<int64_t> sequences;
  Inbox<absl::Status> closed;
  JobClient client;
};

class JobServiceTest : public MasterFixture {
 protected:
  void Append(int64_t sequence, const std::string& note = "note") {
    log_.Append(ToProto(core::JobEvent{sequence, 0, core::JobNote{note}}));
  }
  void AppendUpTo(int64_t last) {
    for (int64_t sequence = 1; sequence <= last; ++sequence) Append(sequence);
  }

  // A stream that is read by hand, so that it can be slow.
  struct RawStream {
    grpc::ClientContext context;
    std::unique_ptr<v1::JobService::Stub> stub;
    std::unique_ptr<grpc::ClientReader<v1::JobEvent>> reader;
  };
  std::unique_ptr<RawStream> FollowByHand(bool owner, bool measurements = false) {
    auto stream = std::make_unique<RawStream>();
    stream->stub = v1::JobService::NewStub(grpc::CreateCustomChannel(
        address(), MakeChannelCredentials(ClientCredentials()), MakeChannelArguments()));
    v1::FollowRequest request;
    request.set_owner(owner);
    request.set_measurements(measurements);
    stream->reader = stream->stub->Follow(&stream->context, request);
    return stream;
  }

  // After this nothing can call back any more.
  void StopServer() { server_->Shutdown(Duration::zero()); }
};

TEST_F(JobServiceTest, AFollowerFromTheStartGetsOldAndNewEventsAndTheEnd) {
  AppendUpTo(2);
  Follower follower(address(), ClientCredentials());
  follower.Follow(0);
  EXPECT_THAT(follower.sequences.Take(2), ElementsAre(1, 2));
  Append(3);
  EXPECT_THAT(follower.sequences.Take(1), ElementsAre(3));
  Append(4);
  log_.Close();
  EXPECT_THAT(follower.sequences.Take(1), ElementsAre(4));
  EXPECT_EQ(follower.closed.Next(), absl::OkStatus());
}

TEST_F(JobServiceTest, AFollowerFromTheMiddleGetsTheRest) {
  AppendUpTo(5);
  Follower follower(address(), ClientCredentials());
  follower.Follow(3);
  EXPECT_THAT(follower.sequences.Take(2), ElementsAre(4, 5));
  log_.Close();
  EXPECT_EQ(follower.closed.Next(), absl::OkStatus());
  EXPECT_TRUE(follower.sequences.empty());
}

TEST_F(JobServiceTest, OddPositionsAreTheStartOrTheEnd) {
  AppendUpTo(1);
  Follower early(address(), ClientCredentials()), late(address(), ClientCredentials());
  early.Follow(-7);
  late.Follow(std::numeric_limits<int64_t>::max());
  EXPECT_THAT(early.sequences.Take(1), ElementsAre(1));
  log_.Close();
  EXPECT_EQ(early.closed.Next(), absl::OkStatus());
  EXPECT_EQ(late.closed.Next(), absl::OkStatus());
  EXPECT_TRUE(late.sequences.empty());
}

TEST_F(JobServiceTest, AJobThatIsOverIsToldToItsEnd) {
  AppendUpTo(3);
  log_.Close();
  Follower follower(address(), ClientCredentials());
  follower.Follow(0);
  EXPECT_EQ(follower.closed.Next(), absl::OkStatus());
  EXPECT_THAT(follower.sequences.Take(3), ElementsAre(1, 2, 3));
}

TEST_F(JobServiceTest, SeveralFollowersEachGetEverything) {
  AppendUpTo(10);
  std::list<Follower> followers;
  for (int i = 0; i < 5; ++i) {
    followers.emplace_back(address(), ClientCredentials()).Follow(2 * i);
  }
  for (int64_t sequence = 11; sequence <= 200; ++sequence) Append(sequence);
  log_.Close();
  int64_t after = 0;
  for (Follower& follower : followers) {
    std::vector<int64_t> expected;
    for (int64_t sequence = after + 1; sequence <= 200; ++sequence) expected.push_back(sequence);
    EXPECT_EQ(follower.sequences.Take(expected.size()), expected);
    EXPECT_EQ(follower.closed.Next(), absl::OkStatus());
    after += 2;
  }
}

TEST_F(JobServiceTest, ASlowFollowerHoldsNobodyUpAndLosesNothing) {
  constexpr int kEvents = 400;
  const auto slow = FollowByHand(false);
  Follower fast(address(), ClientCredentials());
  fast.Follow(0);
  // More than gRPC takes in for somebody who does not read.
  const std::string large(50'000, 'x');
  for (int sequence = 1; sequence <= kEvents; ++sequence) Append(sequence, large);
  log_.Close();
  EXPECT_EQ(fast.closed.Next(), absl::OkStatus());
  EXPECT_EQ(fast.sequences.Take(kEvents).size(), static_cast<size_t>(kEvents));

  v1::JobEvent event;
  int64_t last = 0;
  while (slow->reader->Read(&event)) ASSERT_EQ(event.sequence(), ++last);
  EXPECT_EQ(last, kEvents);
  EXPECT_TRUE(slow->reader->Finish().ok());
}

TEST_F(JobServiceTest, AnEventOfAnUnknownKindIsLeftOut) {
  AppendUpTo(1);
  v1::JobEvent unknown;
  unknown.set_sequence(2);
  log_.Append(unknown);
  Append(3);
  log_.Close();
  Follower follower(address(), ClientCredentials());
  follower.Follow(0);
  EXPECT_EQ(follower.closed.Next(), absl::OkStatus());
  EXPECT_THAT(follower.sequences.Take(2), ElementsAre(1, 3));
}

TEST_F(JobServiceTest, AnEventThatCannotBeReadIsNoRegularEnd) {
  AppendUpTo(1);
  v1::JobEvent unreadable;
  unreadable.set_sequence(2);
  unreadable.mutable_note()->set_sentence(
      "caf\xE9");  // not made by ToProto(), which would replace it
  log_.Append(unreadable);
  Append(3);
  Follower follower(address(), ClientCredentials());
  follower.Follow(0);
  const auto closed = follower.closed.Next();
  ASSERT_TRUE(closed.has_value());
  EXPECT_FALSE(closed->ok());
  EXPECT_THAT(follower.sequences.Take(1), ElementsAre(1));
}

TEST_F(JobServiceTest, AFollowerOfMeasurementsGetsThemBesideTheEvents) {
  Follower plain(address(), ClientCredentials());
  plain.Follow(0);
  Inbox<core::JobEvent> heard;
  JobClient client(address(), ClientCredentials());
  JobClient::FollowCallbacks callbacks;
  callbacks.on_event = [&](core::JobEvent event) { heard.Push(std::move(event)); };
  callbacks.on_closed = [](const absl::Status&) {};
  callbacks.on_measurement = callbacks.on_event;
  AppendUpTo(1);
  client.Follow(0, /*owner=*/false, callbacks);
  EXPECT_EQ(heard.Next()->sequence, 1);
  const core::TaskMeasured measured{{"worker", 3}, {}, 2};
  log_.ShowMeasurement(ToProto(core::JobEvent{0, 77, measured}));
  EXPECT_TRUE(heard.Next() == core::JobEvent({0, 77, measured}));
  Append(2);
  EXPECT_EQ(heard.Next()->sequence, 2);
  log_.Close();
  EXPECT_EQ(plain.closed.Next(), absl::OkStatus());
  EXPECT_THAT(plain.sequences.Take(2), ElementsAre(1, 2));
  EXPECT_TRUE(plain.sequences.empty()) << "it has not asked for them";
}

TEST_F(JobServiceTest, MeasurementsThatComeTogetherAreOneMessage) {
  const auto slow = FollowByHand(/*owner=*/false, /*measurements=*/true);
  std::vector<v1::JobEvent> measured;
  for (int i = 0; i < 3; ++i) {
    measured.push_back(ToProto(core::JobEvent{0, 0, core::TaskMeasured{{"worker", i}, {}, 1}}));
  }
  log_.ShowMeasurements(measured);
  v1::JobEvent event;
  ASSERT_TRUE(slow->reader->Read(&event));
  EXPECT_EQ(event.task_measured().task().index(), 0);
  ASSERT_EQ(event.also_size(), 2);
  EXPECT_EQ(event.also(1).task_measured().task().index(), 2);

  Inbox<core::JobEvent> heard;
  JobClient client(address(), ClientCredentials());
  JobClient::FollowCallbacks callbacks;
  callbacks.on_event = [&](core::JobEvent one) { heard.Push(std::move(one)); };
  callbacks.on_closed = [](const absl::Status&) {};
  callbacks.on_measurement = callbacks.on_event;
  client.Follow(0, /*owner=*/false, callbacks);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(std::get<core::TaskMeasured>(heard.Next()->body).task.index, i);
  }
  log_.Close();
}

TEST_F(JobServiceTest, ASlowFollowerSeesTheNewestMeasurementAndNoQueue) {
  constexpr int kMeasurements = 20'000;
  // It does not read while more than gRPC takes in is on its way.
  const auto slow = FollowByHand(/*owner=*/false, /*measurements=*/true);
  for (int64_t sequence = 1; sequence <= 200; ++sequence) {
    Append(sequence, std::string(50'000, 'x'));
  }
  core::TaskMeasured measured{{"worker", 0}, {}, 1};
  for (int i = 1; i <= kMeasurements; ++i) {
    measured.usage.processes = i;
    log_.ShowMeasurement(ToProto(core::JobEvent{0, 0, measured}));
  }
  v1::JobEvent event;
  for (int64_t sequence = 1; sequence <= 200; ++sequence) {
    ASSERT_TRUE(slow->reader->Read(&event));
    ASSERT_EQ(event.sequence(), sequence);
  }
  ASSERT_TRUE(slow->reader->Read(&event));
  EXPECT_EQ(event.task_measured().usage().processes(), kMeasurements);
  log_.Close();
  EXPECT_FALSE(slow->reader->Read(&event));
  EXPECT_TRUE(slow->reader->Finish().ok());
}

TEST_F(JobServiceTest, AFollowerOfThePastWaitsForItAndGetsAllInOrder) {
  log_.AwaitPast(3);
  Follower early(address(), ClientCredentials()), late(address(), ClientCredentials());
  early.Follow(1);
  late.Follow(3);
  Append(4);
  EXPECT_THAT(late.sequences.Take(1), ElementsAre(4)) << "it lacks nothing that is awaited";
  log_.Close();
  EXPECT_EQ(late.closed.Next(), absl::OkStatus());
  EXPECT_TRUE(early.closed.empty());
  EXPECT_TRUE(early.sequences.empty());
  std::vector<v1::JobEvent> past;
  for (int64_t sequence = 1; sequence <= 3; ++sequence) {
    past.push_back(ToProto(core::JobEvent{sequence, 0, core::JobNote{"past"}}));
  }
  log_.AddPast(std::move(past));
  EXPECT_THAT(early.sequences.Take(3), ElementsAre(2, 3, 4));
  EXPECT_EQ(early.closed.Next(), absl::OkStatus());
}

TEST_F(JobServiceTest, TheLossOfTheOwnerIsToldOnce) {
  AppendUpTo(1);
  {
    Follower owner(address(), ClientCredentials());
    owner.Follow(0, /*owner=*/true);
    EXPECT_EQ(calls_.Next(), "owner attached");
    EXPECT_THAT(owner.sequences.Take(1), ElementsAre(1));
  }
  EXPECT_EQ(calls_.Next(), "owner gone");
  Append(2);
  log_.Close();
  StopServer();
  EXPECT_TRUE(calls_.empty());
}

TEST_F(JobServiceTest, AnOwnerLostInTheMiddleOfAWriteIsToldToo) {
  // gRPC says so by the failed write or by the cancelled call, in either order: each round is one
  // throw of the dice.
  const std::string large(2'000'000, 'x');
  for (int sequence = 1; sequence <= 20; ++sequence) Append(sequence, large);
  for (int round = 0; round < 40; ++round) {
    const auto owner = FollowByHand(true);
    ASSERT_EQ(calls_.Next(), "owner attached");
    v1::JobEvent event;
    ASSERT_TRUE(owner->reader->Read(&event));  // the next ones are on their way
    owner->context.TryCancel();
    EXPECT_FALSE(owner->reader->Finish().ok());
    ASSERT_EQ(calls_.Next(), "owner gone") << "round " << round;
  }
  StopServer();
  EXPECT_TRUE(calls_.empty());
}

TEST_F(JobServiceTest, AnOwnerThatLeavesAfterTheRegularEndIsNotMissed) {
  AppendUpTo(1);
  {
    Follower owner(address(), ClientCredentials());
    owner.Follow(0, /*owner=*/true);
    EXPECT_EQ(calls_.Next(), "owner attached");
    log_.Close();
    EXPECT_EQ(owner.closed.Next(), absl::OkStatus());
  }
  StopServer();
  EXPECT_TRUE(calls_.empty());
}

TEST_F(JobServiceTest, AFollowerWhoIsNotTheOwnerIsNotMissed) {
  AppendUpTo(1);
  {
    Follower follower(address(), ClientCredentials());
    follower.Follow(0);
    EXPECT_THAT(follower.sequences.Take(1), ElementsAre(1));
  }
  StopServer();
  EXPECT_TRUE(calls_.empty());
}

TEST_F(JobServiceTest, TheServersEndIsNoRegularEnd) {
  Follower follower(address(), ClientCredentials());
  follower.Follow(0, /*owner=*/true);
  EXPECT_EQ(calls_.Next(), "owner attached");
  StopServer();
  const auto closed = follower.closed.Next();
  ASSERT_TRUE(closed.has_value());
  EXPECT_FALSE(closed->ok());
}

TEST_F(JobServiceTest, AStopIsNotedWhenItIsAnswered) {
  JobClient client(address(), ClientCredentials());
  EXPECT_EQ(client.Stop("caf\xE9", kPatience), absl::OkStatus());
  EXPECT_FALSE(calls_.empty());
  EXPECT_EQ(calls_.Next(), "stop: caf\xEF\xBF\xBD");
}

TEST_F(JobServiceTest, ANoteOfAClientHasALimit) {
  JobClient client(address(), ClientCredentials());
  Inbox<absl::Status> answers;
  const auto note = [&](const std::string& sentence) {
    client.NoteLater(sentence, kPatience, [&](absl::Status status) { answers.Push(status); });
    return answers.Next()->code();
  };
  EXPECT_EQ(note("caf\xE9"), absl::StatusCode::kOk);
  EXPECT_EQ(calls_.Next(), "note: caf\xEF\xBF\xBD");
  EXPECT_EQ(note(std::string(1001, 'x')), absl::StatusCode::kInvalidArgument);
  JobClient executor(address(), ExecutorCredentials());
  executor.NoteLater("mine", kPatience, [&](absl::Status status) { answers.Push(status); });
  EXPECT_EQ(answers.Next()->code(), absl::StatusCode::kPermissionDenied);
  StopServer();
  EXPECT_TRUE(calls_.empty());
}

TEST_F(JobServiceTest, NobodyAnswersAfterTheServersEnd) {
  StopServer();
  Follower follower(address(), ClientCredentials());
  EXPECT_EQ(follower.client.Stop("why", kPatience).code(), absl::StatusCode::kUnavailable);
  follower.Follow(0);
  const auto closed = follower.closed.Next();
  ASSERT_TRUE(closed.has_value());
  EXPECT_EQ(closed->code(), absl::StatusCode::kUnavailable);
}

TEST_F(JobServiceTest, AnExecutorMayNeitherFollowNorStop) {
  AppendUpTo(1);
  Follower executor(address(), ExecutorCredentials());
  executor.Follow(0, /*owner=*/true);
  const auto closed = executor.closed.Next();
  ASSERT_TRUE(closed.has_value());
  EXPECT_EQ(closed->code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(closed->message()), HasSubstr("client"));
  EXPECT_EQ(executor.client.Stop("mine", kPatience).code(), absl::StatusCode::kPermissionDenied);
  StopServer();
  EXPECT_TRUE(executor.sequences.empty());
  EXPECT_TRUE(calls_.empty());
}

TEST_F(JobServiceTest, AServerThatCannotListenSaysWhere) {
  // An address of the documentation's network, which no machine has.
  const auto server = MasterServer::Start("192.0.2.1", Peers::kOwnUser,
                                          authority_.Issue(ApplicationMasterRole(kJobId)).value(),
                                          job_service_, executor_service_);
  EXPECT_EQ(server.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("192.0.2.1"));
}

TEST_F(JobServiceTest, ThePageIsAnsweredWhenTheOwnerDoes) {
  JobClient client(address(), ClientCredentials());
  std::thread owner([&] {
    const auto answer = pages_.Next();
    ASSERT_TRUE(answer.has_value());
    (*answer)("http://127.0.0.1:1/");
    (*answer)(absl::InternalError("a second answer counts for nothing"));
  });
  const absl::StatusOr<std::string> url = client.OpenPage(kPatience);
  owner.join();
  ASSERT_TRUE(url.ok()) << url.status();
  EXPECT_EQ(*url, "http://127.0.0.1:1/");
}

TEST_F(JobServiceTest, APageThatIsNotAnsweredHoldsUpNoServer) {
  JobClient client(address(), ClientCredentials());
  const absl::StatusOr<std::string> url = client.OpenPage(milliseconds(50));
  EXPECT_TRUE(absl::IsDeadlineExceeded(url.status())) << url.status();
  EXPECT_THAT(std::string(url.status().message()),
              ::testing::HasSubstr("not answered within 50ms"));
  server_.reset();
  const auto answer = pages_.Next();
  ASSERT_TRUE(answer.has_value());
  (*answer)("http://127.0.0.1:1/");
}

}  // namespace
}  // namespace tony::rpc
