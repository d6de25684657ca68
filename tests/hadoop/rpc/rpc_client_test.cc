// Fail-over, reconnection and deadlines against servers of the test's own.
#include "hadoop/rpc/rpc_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hadoop/common/security.pb.h"
#include "hadoop/rpc/remote_exception.h"
#include "tests/hadoop/fakes/fake_server.h"

namespace tony::hadoop {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr char kStandby[] = "org.apache.hadoop.ipc.StandbyException";

class RpcClientTest : public testing::Test {
 protected:
  RpcClientOptions Options(std::vector<Endpoint> servers) {
    return {.protocol = "p",
            .servers = std::move(servers),
            .identity = {.user = "alice"},
            .first_backoff = milliseconds(2),
            .longest_backoff = milliseconds(10)};
  }

  // One call, waited for.
  absl::StatusOr<std::string> Call(RpcClient& client, Duration timeout = seconds(20),
                                   Retry retry = Retry::kUntilDeadline) {
    absl::StatusOr<std::string> result = absl::CancelledError();
    client.CallBytes("method", "", timeout, retry, [&](auto answer) {
      result = std::move(answer);
      loop_.Stop();
    });
    loop_.Run();
    return result;
  }

  static FakeServer::Handler Saying(const std::string& answer) {
    return [answer](const std::string& frame) {
      const ClientFrame read(frame);
      const int id = read.header.callid();
      if (id < 0) return std::string();
      return answer.empty() ? ErrorFrame(id, kStandby) : AnswerFrame(id, answer);
    };
  }

  static Endpoint Nobody(EventLoop& loop) { return FakeServer(loop, nullptr).endpoint(); }

  EventLoop loop_;
};

TEST_F(RpcClientTest, GoesOnToTheActiveServerAndStaysThere) {
  FakeServer standby(loop_, Saying(""));
  FakeServer active(loop_, Saying("active"));
  RpcClient client(loop_, Options({Nobody(loop_), standby.endpoint(), active.endpoint()}));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*Call(client), "active");
  EXPECT_EQ(standby.accepted(), 1);
  EXPECT_EQ(active.accepted(), 1);
}

TEST_F(RpcClientTest, ConnectsAgainWhenTheConnectionIsLost) {
  int calls = 0;
  FakeServer* server = nullptr;
  FakeServer real(loop_, [&](const std::string& frame) {
    const int id = ClientFrame(frame).header.callid();
    if (id < 0) return std::string();
    if (++calls < 4) {
      loop_.Post([&] { server->CloseConnections(); });
      return std::string();
    }
    return AnswerFrame(id, "at last");
  });
  server = &real;
  RpcClient client(loop_, Options({real.endpoint()}));
  EXPECT_EQ(*Call(client), "at last");
  EXPECT_EQ(real.accepted(), 4);
}

TEST_F(RpcClientTest, AnActiveServerThatClosedAnIdleConnectionIsAskedAgain) {
  FakeServer active(loop_, Saying("active"));
  FakeServer standby(loop_, Saying(""));
  RpcClient client(loop_, Options({active.endpoint(), standby.endpoint()}));
  EXPECT_EQ(*Call(client), "active");
  active.CloseConnections();
  EXPECT_EQ(*Call(client), "active");
  EXPECT_EQ(active.accepted(), 2);
  EXPECT_EQ(standby.accepted(), 0);
}

TEST_F(RpcClientTest, ACallThatWaitsForTheNextTrySaysWhy) {
  RpcClientOptions options = Options({Nobody(loop_)});
  options.first_backoff = options.longest_backoff = seconds(20);
  RpcClient client(loop_, std::move(options));
  client.CallBytes("first", "", seconds(20), Retry::kUntilDeadline, [](const auto&) {});
  const auto later = loop_.After(milliseconds(20), [&] { loop_.Stop(); });
  loop_.Run();
  const auto answer = Call(client, milliseconds(20));
  EXPECT_TRUE(absl::IsDeadlineExceeded(answer.status()));
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("Connection refused"));
}

TEST_F(RpcClientTest, AllCallsInFlightAreMadeAgain) {
  FakeServer standby(loop_, [answered = false](const std::string& frame) mutable {
    const int id = ClientFrame(frame).header.callid();
    // It answers one of them only.
    if (id < 0 || std::exchange(answered, true)) return std::string();
    return ErrorFrame(id, kStandby);
  });
  FakeServer active(loop_, Saying("active"));
  RpcClient client(loop_, Options({standby.endpoint(), active.endpoint()}));
  int open = 10;
  for (int i = open; i > 0; --i) {
    client.CallBytes("method", "", seconds(20), Retry::kUntilDeadline, [&](const auto& answer) {
      EXPECT_TRUE(answer.ok()) << answer.status();
      if (--open == 0) loop_.Stop();
    });
  }
  loop_.Run();
  EXPECT_EQ(open, 0);
}

TEST_F(RpcClientTest, SaysAtTheDeadlineWhatWasWrong) {
  RpcClient client(loop_, Options({Nobody(loop_), Nobody(loop_)}));
  const auto answer = Call(client, milliseconds(50));
  EXPECT_TRUE(absl::IsDeadlineExceeded(answer.status())) << answer.status();
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("Connection refused"));
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("tried again for 0.05 s"));
}

TEST_F(RpcClientTest, LeavesAServerThatSaysNothing) {
  FakeServer silent(loop_, [](const std::string&) { return std::string(); });
  FakeServer other(loop_, Saying("other"));
  RpcClient client(loop_, Options({silent.endpoint(), other.endpoint()}));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Call(client, milliseconds(20)).status()));
  EXPECT_EQ(*Call(client), "other");
}

TEST_F(RpcClientTest, TriesOnceWhereThatIsWanted) {
  FakeServer standby(loop_, Saying(""));
  RpcClient client(loop_, Options({standby.endpoint()}));
  const auto answer = Call(client, seconds(20), Retry::kNever);
  EXPECT_TRUE(absl::IsUnavailable(answer.status()));
  EXPECT_EQ(RemoteExceptionName(answer.status()), "StandbyException");
}

TEST_F(RpcClientTest, DoesNotAskAgainAfterARefusal) {
  int calls = 0;
  FakeServer server(loop_, [&](const std::string& frame) {
    const int id = ClientFrame(frame).header.callid();
    calls += id < 0 ? 0 : 1;
    return id < 0 ? "" : ErrorFrame(id, "java.lang.IllegalArgumentException");
  });
  RpcClient client(loop_, Options({server.endpoint()}));
  EXPECT_TRUE(absl::IsInvalidArgument(Call(client).status()));
  EXPECT_EQ(calls, 1);
}

TEST_F(RpcClientTest, AnAnswerThatIsNoneIsDataLoss) {
  FakeServer server(loop_, Saying("no message"));
  RpcClient client(loop_, Options({server.endpoint()}));
  using Response = ::hadoop::common::RenewDelegationTokenResponseProto;
  absl::Status status;
  client.Call<Response>("renew", ::hadoop::common::GetDelegationTokenResponseProto(), seconds(20),
                        Retry::kUntilDeadline, [&](const absl::StatusOr<Response>& response) {
                          status = response.status();
                          loop_.Stop();
                        });
  loop_.Run();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

TEST_F(RpcClientTest, CanBeDestroyedWithCallsInFlight) {
  FakeServer standby(loop_, Saying(""));
  auto client = std::make_unique<RpcClient>(loop_, Options({standby.endpoint()}));
  for (int i = 0; i < 3; ++i) {
    client->CallBytes("method", "", seconds(20), Retry::kUntilDeadline,
                      [](const auto&) { FAIL() << "after the end"; });
  }
  const auto timer = loop_.After(milliseconds(20), [&] {
    client = nullptr;
    loop_.Post([&] { loop_.Stop(); });
  });
  loop_.Run();
  EXPECT_EQ(client, nullptr);
}

}  // namespace
}  // namespace tony::hadoop
