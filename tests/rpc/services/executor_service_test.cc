// Executors' streams against the real server: both directions, roles, and every way to break.
#include "rpc/services/executor_service.h"

#include <gmock/gmock.h>

#include "common/logging.h"
#include "rpc/convert/convert.h"
#include "rpc/security/grpc_credentials.h"
#include "rpc/services/executor_session.h"
#include "tests/common/eventually.h"
#include "tests/os/temporary_folder.h"
#include "tests/rpc/master_fixture.h"

namespace tony::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace input = core::input;

// A session and what it hears. The session goes first.
struct Executor {
  Executor(const std::string& address, const Credentials& credentials)
      : session(std::make_unique<ExecutorSession>(
            address, credentials,
            ExecutorSession::Callbacks{
                [this](v1::MasterMessage message) { messages.Push(std::move(message)); },
                [this](absl::Status status) { closed.Push(status); }})) {}

  void SayHello(const std::string& container_id = kContainer) {
    v1::ExecutorMessage message;
    message.mutable_hello()->set_container_id(container_id);
    message.mutable_hello()->set_containment("cgroup");
    session->Send(std::move(message));
  }

  Inbox<v1::MasterMessage> messages;
  Inbox<absl::Status> closed;
  std::unique_ptr<ExecutorSession> session;
};

v1::MasterMessage Prepare(int epoch) {
  v1::MasterMessage message;
  message.mutable_prepare()->set_epoch(epoch);
  return message;
}

class ExecutorServiceTest : public MasterFixture {
 protected:
  // The container of the next input, which must be an ExecutorAttached.
  std::string NextAttached() {
    const auto next = inputs_.Next();
    if (!next || !std::holds_alternative<input::ExecutorAttached>(*next)) return "none";
    EXPECT_EQ(std::get<input::ExecutorAttached>(*next).containment, "cgroup");
    return std::get<input::ExecutorAttached>(*next).container_id;
  }
  // The next input, which must be of this type.
  template <typename Kind>
  Kind NextInput() {
    const auto next = inputs_.Next();
    EXPECT_TRUE(next.has_value() && std::holds_alternative<Kind>(*next));
    return next && std::holds_alternative<Kind>(*next) ? std::get<Kind>(*next) : Kind{};
  }
  // Whether the service comes to know within patience that the stream is over.
  bool BecomesUnknown(const std::string& container_id) {
    return Eventually([&] { return !executor_service_.Send(container_id, Prepare(1)).ok(); });
  }
};

TEST_F(ExecutorServiceTest, TheCertificateSaysWhoAttached) {
  Executor executor(address(), ExecutorCredentials());
  executor.SayHello("job-1-c9999");
  EXPECT_EQ(NextAttached(), kContainer);
}

TEST_F(ExecutorServiceTest, EveryMessageBecomesItsInput) {
  Executor executor(address(), ExecutorCredentials());
  executor.SayHello();
  v1::ExecutorMessage message;
  message.mutable_registered()->set_epoch(2);
  message.mutable_registered()->set_port(4711);
  message.mutable_registered()->set_visualization_port(4712);
  executor.session->Send(message);
  message.mutable_task_started()->set_epoch(2);
  message.mutable_task_started()->set_pid(99);
  executor.session->Send(message);
  message.mutable_heartbeat();
  executor.session->Send(message);
  message.mutable_port_taken()->set_epoch(2);
  message.mutable_port_taken()->set_port(4711);
  message.mutable_port_taken()->set_holder("pid 7 (nc) of user 0");
  executor.session->Send(message);
  message.mutable_visualization_listener()->set_epoch(2);
  message.mutable_visualization_listener()->set_attempt(3);
  message.mutable_visualization_listener()->set_listens(true);
  executor.session->Send(message);
  const core::TaskExit exit{core::TaskExit::Cause::kExited, 3, 0, "m", {"tail"}};
  message.mutable_task_ended()->set_epoch(2);
  *message.mutable_task_ended()->mutable_exit() = ToProto(exit);
  executor.session->Send(message);

  EXPECT_EQ(NextAttached(), kContainer);
  const auto registered = NextInput<input::ExecutorRegistered>();
  EXPECT_EQ(registered.container_id, kContainer);
  EXPECT_EQ(registered.epoch, 2);
  EXPECT_EQ(registered.port, 4711);
  EXPECT_EQ(registered.visualization_port, 4712);
  const auto started = NextInput<input::TaskStarted>();
  EXPECT_EQ(started.container_id, kContainer);
  EXPECT_EQ(started.epoch, 2);
  EXPECT_EQ(started.pid, 99);
  EXPECT_FALSE(NextInput<input::Heartbeat>().usage.has_value());
  const auto taken = NextInput<input::PortTaken>();
  EXPECT_EQ(taken.container_id, kContainer);
  EXPECT_EQ(taken.epoch, 2);
  EXPECT_EQ(taken.port, 4711);
  EXPECT_EQ(taken.holder, "pid 7 (nc) of user 0");
  const auto listener = NextInput<input::VisualizationListener>();
  EXPECT_EQ(listener.container_id, kContainer);
  EXPECT_EQ(listener.epoch, 2);
  EXPECT_EQ(listener.attempt, 3);
  EXPECT_TRUE(listener.listens);
  const auto ended = NextInput<input::TaskEnded>();
  EXPECT_EQ(ended.container_id, kContainer);
  EXPECT_EQ(ended.epoch, 2);
  EXPECT_TRUE(ended.exit == exit);
}

TEST_F(ExecutorServiceTest, AHeartbeatBringsMeasurementsOldestFirst) {
  Executor executor(address(), ExecutorCredentials());
  executor.SayHello();
  v1::ExecutorMessage message;
  message.mutable_heartbeat()->mutable_usage()->set_processes(3);
  message.mutable_heartbeat()->add_earlier()->set_processes(1);
  message.mutable_heartbeat()->add_earlier()->set_processes(2);
  executor.session->Send(message);
  EXPECT_EQ(NextAttached(), kContainer);
  const auto heartbeat = NextInput<input::Heartbeat>();
  EXPECT_EQ(heartbeat.container_id, kContainer);
  ASSERT_TRUE(heartbeat.usage.has_value());
  EXPECT_EQ(heartbeat.usage->processes, 3);
  ASSERT_EQ(heartbeat.earlier.size(), 2U);
  EXPECT_EQ(heartbeat.earlier[0].processes, 1);
  EXPECT_EQ(heartbeat.earlier[1].processes, 2);
}

TEST_F(ExecutorServiceTest, AnEmptyMessageIsLeftOut) {
  Executor executor(address(), ExecutorCredentials());
  executor.session->Send({});
  executor.SayHello();
  EXPECT_EQ(NextAttached(), kContainer);
}

TEST_F(ExecutorServiceTest, MessagesKeepTheirOrderInBothDirections) {
  constexpr int kMessages = 500;
  Executor executor(address(), ExecutorCredentials());
  executor.SayHello();
  ASSERT_EQ(NextAttached(), kContainer);
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_EQ(executor_service_.Send(kContainer, Prepare(i)), absl::OkStatus());
    v1::ExecutorMessage message;
    message.mutable_task_started()->set_pid(i);
    executor.session->Send(std::move(message));
  }
  for (int i = 0; i < kMessages; ++i) {
    const auto message = executor.messages.Next();
    ASSERT_TRUE(message.has_value());
    ASSERT_EQ(message->prepare().epoch(), i);
    ASSERT_EQ(NextInput<input::TaskStarted>().pid, i);
  }
}

TEST_F(ExecutorServiceTest, EachContainerGetsItsOwn) {
  Executor one(address(), ExecutorCredentials("job-1-c0001"));
  Executor two(address(), ExecutorCredentials("job-1-c0002"));
  one.SayHello();
  EXPECT_EQ(NextAttached(), "job-1-c0001");
  two.SayHello();
  EXPECT_EQ(NextAttached(), "job-1-c0002");
  EXPECT_TRUE(executor_service_.Send("job-1-c0002", Prepare(2)).ok());
  EXPECT_TRUE(executor_service_.Send("job-1-c0001", Prepare(1)).ok());
  EXPECT_EQ(one.messages.Next().value_or(Prepare(0)).prepare().epoch(), 1);
  EXPECT_EQ(two.messages.Next().value_or(Prepare(0)).prepare().epoch(), 2);
}

TEST_F(ExecutorServiceTest, AMessageToNobodyIsNotFound) {
  const absl::Status status = executor_service_.Send("job-1-c0404", Prepare(1));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("job-1-c0404"));
}

TEST_F(ExecutorServiceTest, LargeMessagesPass) {
  // The longest tail that a job file may ask for, of bytes that become three each.
  core::TaskExit exit;
  exit.tail.assign(1000, std::string(4096, '\xFF'));
  Executor executor(address(), ExecutorCredentials());
  v1::ExecutorMessage message;
  *message.mutable_task_ended()->mutable_exit() = ToProto(exit);
  executor.session->Send(std::move(message));
  EXPECT_EQ(NextInput<input::TaskEnded>().exit.tail.size(), 1000u);

  v1::MasterMessage start;
  start.mutable_start()->set_cluster_spec(std::string(20'000'000, 's'));
  ASSERT_TRUE(executor_service_.Send(kContainer, start).ok());
  EXPECT_EQ(executor.messages.Next().value_or(Prepare(0)).start().cluster_spec().size(),
            20'000'000u);
}

TEST_F(ExecutorServiceTest, WhatIsQueuedArrivesBeforeTheExecutorCloses) {
  constexpr int kMessages = 200;
  Executor executor(address(), ExecutorCredentials());
  executor.SayHello();
  for (int i = 0; i < kMessages; ++i) {
    v1::ExecutorMessage message;
    message.mutable_task_started()->set_pid(i);
    executor.session->Send(std::move(message));
  }
  executor.session->Close();
  EXPECT_EQ(executor.closed.Next(), absl::OkStatus());
  EXPECT_EQ(NextAttached(), kContainer);
  for (int i = 0; i < kMessages; ++i) ASSERT_EQ(NextInput<input::TaskStarted>().pid, i);
  EXPECT_EQ(NextInput<input::ExecutorDetached>().container_id, kContainer);
  EXPECT_EQ(executor_service_.Send(kContainer, Prepare(1)).code(), absl::StatusCode::kNotFound);
  executor.SayHello();  // too late: dropped
  executor.session.reset();
  server_->Shutdown(Duration::zero());
  EXPECT_TRUE(inputs_.empty());
}

TEST_F(ExecutorServiceTest, AnExecutorThatVanishesIsNotFoundAnyMore) {
  Executor executor(address(), ExecutorCredentials());
  executor.SayHello();
  ASSERT_EQ(NextAttached(), kContainer);
  executor.session.reset();
  EXPECT_TRUE(BecomesUnknown(kContainer));
  EXPECT_FALSE(executor.closed.empty());
}

TEST_F(ExecutorServiceTest, TheServersEndIsToldToTheExecutorOnce) {
  Executor executor(address(), ExecutorCredentials());
  executor.SayHello();
  ASSERT_EQ(NextAttached(), kContainer);
  server_->Shutdown(Duration::zero());
  ASSERT_TRUE(executor.closed.Next().has_value());
  executor.SayHello();  // dropped
  executor.session->Close();
  executor.session.reset();
  EXPECT_TRUE(executor.closed.empty());
}

TEST_F(ExecutorServiceTest, AnExecutorWithoutAServerIsToldSo) {
  const std::string nobody = address();
  server_->Shutdown(Duration::zero());
  Executor executor(nobody, ExecutorCredentials());
  executor.SayHello();
  const auto closed = executor.closed.Next();
  ASSERT_TRUE(closed.has_value());
  EXPECT_EQ(closed->code(), absl::StatusCode::kUnavailable);
}

TEST_F(ExecutorServiceTest, AMessageThatCannotBeReadIsTheEnd) {
  for (const int following : {0, 1, 20}) {
    Executor executor(address(), ExecutorCredentials());
    executor.SayHello();
    ASSERT_EQ(NextAttached(), kContainer);
    v1::MasterMessage unreadable;
    unreadable.mutable_shutdown()->set_reason("caf\xE9");  // a string has to be UTF-8
    ASSERT_TRUE(executor_service_.Send(kContainer, unreadable).ok());
    for (int i = 0; i < following; ++i) (void)executor_service_.Send(kContainer, Prepare(i));
    EXPECT_TRUE(executor.closed.Next().has_value()) << following << " messages followed";
    EXPECT_TRUE(executor.messages.empty());
    executor.session.reset();
    EXPECT_TRUE(BecomesUnknown(kContainer));
    EXPECT_EQ(NextInput<input::ExecutorDetached>().container_id, kContainer);
  }
}

TEST_F(ExecutorServiceTest, WhatTheUserWroteNeedsNotBeUtf8) {
  Executor executor(address(), ExecutorCredentials());
  executor.SayHello();
  ASSERT_EQ(NextAttached(), kContainer);
  v1::MasterMessage message;
  v1::Assignment& assignment = *message.mutable_assignment();
  assignment.set_command("echo caf\xE9");
  (*assignment.mutable_environment())["DRINK"] = "caf\xE9";
  assignment.set_log_folder("/caf\xE9/logs");
  assignment.set_checkpoint_folder("/caf\xE9/checkpoints");
  assignment.set_cache_folder("/caf\xE9/cache");
  ASSERT_TRUE(executor_service_.Send(kContainer, message).ok());
  const auto received = executor.messages.Next();
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->assignment().command(), "echo caf\xE9");
  EXPECT_EQ(received->assignment().environment().at("DRINK"), "caf\xE9");
  EXPECT_EQ(received->assignment().log_folder(), "/caf\xE9/logs");
}

TEST_F(ExecutorServiceTest, ASecondStreamOfAContainerEndsTheFirst) {
  Executor first(address(), ExecutorCredentials());
  first.SayHello();
  ASSERT_EQ(NextAttached(), kContainer);
  Executor second(address(), ExecutorCredentials());
  second.SayHello();
  ASSERT_EQ(NextAttached(), kContainer);
  const auto closed = first.closed.Next();
  ASSERT_TRUE(closed.has_value());
  EXPECT_EQ(closed->code(), absl::StatusCode::kAborted);

  first.SayHello();
  first.session.reset();
  ASSERT_TRUE(executor_service_.Send(kContainer, Prepare(5)).ok());
  EXPECT_EQ(second.messages.Next().value_or(Prepare(0)).prepare().epoch(), 5);
  EXPECT_TRUE(first.messages.empty());
  EXPECT_TRUE(inputs_.empty());
}

// Holds the sink at a TaskStarted, which is the time between a message's arrival and the job's
// input.
class ExecutorServiceOrderTest : public ExecutorServiceTest {
 protected:
  // Long enough for an input that comes too early; a test that works waits as long.
  static constexpr std::chrono::milliseconds kTooEarly{300};

  void SetUp() override {
    before_input_ = [this](const core::JobInput& input) {
      if (!std::holds_alternative<input::TaskStarted>(input)) return;
      held_.Push(true);
      released_.Next();
    };
    ExecutorServiceTest::SetUp();
  }

  // Lets the executor send a TaskStarted that arrives and is held.
  void HoldTaskStarted(Executor& executor) {
    executor.SayHello();
    ASSERT_EQ(NextAttached(), kContainer);
    v1::ExecutorMessage message;
    message.mutable_task_started()->set_pid(1);
    executor.session->Send(std::move(message));
    ASSERT_TRUE(held_.Next().has_value());
  }

  // Lets the held TaskStarted go, once whatever may overtake it has had the time to.
  void Release() {
    EXPECT_FALSE(inputs_.HasWithin(kTooEarly)) << "an input has overtaken an earlier one";
    released_.Push(true);
  }

  Inbox<bool> held_;
  Inbox<bool> released_;
};

TEST_F(ExecutorServiceOrderTest, AMessageComesBeforeTheReportThatItsStreamBroke) {
  Executor executor(address(), ExecutorCredentials());
  HoldTaskStarted(executor);
  executor.session.reset();
  Release();
  EXPECT_EQ(NextInput<input::TaskStarted>().pid, 1);
  EXPECT_EQ(NextInput<input::ExecutorDetached>().container_id, kContainer);
}

TEST_F(ExecutorServiceOrderTest, AMessageComesBeforeTheHelloOfTheNextStream) {
  Executor first(address(), ExecutorCredentials());
  HoldTaskStarted(first);
  Executor second(address(), ExecutorCredentials());
  second.SayHello();
  Release();
  EXPECT_EQ(NextInput<input::TaskStarted>().pid, 1);
  EXPECT_EQ(NextAttached(), kContainer);
}

TEST_F(ExecutorServiceTest, AnExecutorThatDoesNotReadLosesItsStream) {
  const auto stub =
      v1::ExecutorService::NewStub(MakeMasterChannel(address(), ExecutorCredentials()));
  grpc::ClientContext context;
  const auto stream = stub->Attach(&context);
  v1::ExecutorMessage hello;
  hello.mutable_hello()->set_containment("cgroup");
  ASSERT_TRUE(stream->Write(hello));
  ASSERT_EQ(NextAttached(), kContainer);
  v1::MasterMessage message;
  message.mutable_shutdown()->set_reason(std::string(1000, 'r'));
  absl::Status sent;
  // What is on the way does not count, so it takes some more.
  for (size_t i = 0; i < 2 * ExecutorService::kMostQueued && sent.ok(); ++i) {
    sent = executor_service_.Send(kContainer, message);
  }
  EXPECT_EQ(sent.code(), absl::StatusCode::kResourceExhausted) << sent;
  EXPECT_EQ(NextInput<input::ExecutorDetached>().container_id, kContainer);
  EXPECT_TRUE(absl::IsNotFound(executor_service_.Send(kContainer, message)));
  // gRPC tells a call's status only when all that has come is read.
  while (stream->Read(&message)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ExecutorServiceOrderTest, AnApplicationMasterThatDoesNotReadLosesTheStream) {
  Executor executor(address(), ExecutorCredentials());
  HoldTaskStarted(executor);
  v1::ExecutorMessage message;
  message.mutable_task_note()->set_sentence(std::string(1000, 's'));
  for (size_t i = 0; i < 2 * ExecutorSession::kMostQueued; ++i) executor.session->Send(message);
  const auto closed = executor.closed.Next();
  released_.Push(true);
  EXPECT_EQ(closed.value_or(absl::OkStatus()).code(), absl::StatusCode::kCancelled);
}

// A flood of refused calls would otherwise fill the log, so the place is limited.
TEST_F(ExecutorServiceTest, ARefusedPeerIsInTheLogOnce) {
  const os::TemporaryFolder folder;
  const std::string log = folder / "am.log";
  ASSERT_TRUE(SetUpLogging(log, LogLevel::kInfo).ok());
  for (int i = 0; i < 2; ++i) {
    Executor client(address(), ClientCredentials());
    client.SayHello();
    ASSERT_TRUE(client.closed.Next().has_value());
  }
  server_->Shutdown(Duration::zero());
  const std::string lines = os::Contents(log);
  (void)SetUpLogging("", LogLevel::kInfo);
  EXPECT_THAT(lines, ::testing::MatchesRegex(
                         ".* warning a call is refused job=[^ ]+ peer=ipv4:127.0.0.1:[0-9]+ "
                         "why=\"only an executor may do this\"\n(.* left_out=[0-9]+\n)?"));
}

TEST_F(ExecutorServiceTest, AClientMayNotAttach) {
  Executor client(address(), ClientCredentials());
  client.SayHello();
  const auto closed = client.closed.Next();
  ASSERT_TRUE(closed.has_value());
  EXPECT_EQ(closed->code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(closed->message()), HasSubstr("executor"));
  server_->Shutdown(Duration::zero());
  EXPECT_TRUE(inputs_.empty());
}

}  // namespace
}  // namespace tony::rpc
