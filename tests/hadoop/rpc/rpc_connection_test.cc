// One connection against a server that says what the test wants.
#include "hadoop/rpc/rpc_connection.h"

#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <random>

#include "hadoop/rpc/remote_exception.h"
#include "tests/hadoop/fakes/fake_server.h"

namespace tony::hadoop {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr Duration kTimeout = seconds(20);

std::string Message(const absl::Status& status) { return std::string(status.message()); }

class RpcConnectionTest : public testing::Test {
 protected:
  void Connect(RpcIdentity identity = {.user = "alice"}, RpcConnectionOptions options = {}) {
    connection_ = std::make_unique<RpcConnection>(
        loop_, server_.endpoint(), "the.Protocol", std::move(identity), options,
        [this](const absl::Status& status) { closed_ = status; });
  }

  // Makes a call whose result goes to results_, and stops the loop with the last.
  void Call(const std::string& method, const std::string& request, Duration timeout = kTimeout) {
    const size_t index = results_.size();
    results_.emplace_back(absl::CancelledError());
    ++open_;
    connection_->Call(method, request, timeout, [this, index](auto result) {
      results_[index] = std::move(result);
      if (--open_ == 0) loop_.Stop();
    });
  }

  EventLoop loop_;
  std::function<std::string(const ClientFrame&)> say_ = [](const ClientFrame& frame) {
    return frame.header.callid() < 0 ? "" : AnswerFrame(frame.header.callid(), frame.body + "!");
  };
  FakeServer server_{loop_, [this](const std::string& frame) { return say_(ClientFrame(frame)); }};
  std::unique_ptr<RpcConnection> connection_;
  std::vector<absl::StatusOr<std::string>> results_;
  int open_ = 0;
  absl::Status closed_;
};

TEST_F(RpcConnectionTest, CallsAndIsAnswered) {
  Connect();
  Call("method", "request");
  loop_.Run();
  ASSERT_TRUE(results_[0].ok()) << results_[0].status();
  EXPECT_EQ(*results_[0], "request!");
  EXPECT_EQ(server_.preamble(), std::string("hrpc\x09\0\0", 7));
}

TEST_F(RpcConnectionTest, SaysWhoAsksAndWhat) {
  std::vector<int> ids;
  say_ = [&](const ClientFrame& frame) -> std::string {
    ids.push_back(frame.header.callid());
    EXPECT_EQ(frame.header.clientid().size(), 16);
    if (frame.header.callid() < 0) return "";
    EXPECT_EQ(frame.request.methodname(), "method");
    EXPECT_EQ(frame.request.declaringclassprotocolname(), "the.Protocol");
    EXPECT_EQ(frame.request.clientprotocolversion(), 1);
    return AnswerFrame(frame.header.callid(), "");
  };
  Connect();
  Call("method", "");
  loop_.Run();
  EXPECT_THAT(ids, testing::ElementsAre(-3, 0));
  EXPECT_EQ(*results_[0], "");
}

TEST_F(RpcConnectionTest, HasManyCallsInFlightThatAreAnsweredInAnyOrder) {
  constexpr int kCalls = 50;
  std::string answers;
  say_ = [&](const ClientFrame& frame) -> std::string {
    const int id = frame.header.callid();
    if (id < 0) return "";
    answers = AnswerFrame(id, std::to_string(id)) + answers;
    return id == kCalls - 1 ? answers : "";
  };
  Connect();
  for (int i = 0; i < kCalls; ++i) Call("method", "");
  loop_.Run();
  for (int i = 0; i < kCalls; ++i) EXPECT_EQ(*results_[i], std::to_string(i));
}

TEST_F(RpcConnectionTest, AnExceptionEndsOneCallOnly) {
  say_ = [](const ClientFrame& frame) -> std::string {
    const int id = frame.header.callid();
    if (id < 0) return "";
    return id == 0 ? ErrorFrame(id, "org.apache.X$ApplicationMasterNotRegisteredException")
                   : AnswerFrame(id, "fine");
  };
  Connect();
  Call("allocate", "");
  Call("other", "");
  loop_.Run();
  EXPECT_EQ(results_[0].status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Message(results_[0].status()),
            "allocate: ApplicationMasterNotRegisteredException: the reason");
  EXPECT_EQ(RemoteExceptionName(results_[0].status()), "ApplicationMasterNotRegisteredException");
  EXPECT_EQ(*results_[1], "fine");
  EXPECT_TRUE(closed_.ok());
}

TEST_F(RpcConnectionTest, AFatalAnswerEndsAllAndCloses) {
  say_ = [](const ClientFrame& frame) {
    return frame.header.callid() == 1 ? ErrorFrame(-1, "a.b.InvalidToken", true) : "";
  };
  Connect();
  Call("first", "");
  Call("second", "");
  loop_.Run();
  for (const auto& result : results_) {
    EXPECT_TRUE(absl::IsUnauthenticated(result.status())) << result.status();
  }
  EXPECT_TRUE(absl::IsUnauthenticated(closed_));
  // It stays closed, and says why.
  Call("third", "");
  loop_.Run();
  EXPECT_TRUE(absl::IsUnauthenticated(results_[2].status()));
}

TEST_F(RpcConnectionTest, ACallHasADeadlineAndALateAnswerHurtsNobody) {
  say_ = [](const ClientFrame& frame) -> std::string {
    if (frame.header.callid() != 1) return "";
    return AnswerFrame(0, "late") + AnswerFrame(1, "in time");
  };
  Connect();
  Call("slow", "", milliseconds(20));
  loop_.Run();
  EXPECT_TRUE(absl::IsDeadlineExceeded(results_[0].status()));
  EXPECT_THAT(Message(results_[0].status()), HasSubstr("has not answered within 0.02 s"));
  Call("quick", "");
  loop_.Run();
  EXPECT_EQ(*results_[1], "in time");
}

TEST_F(RpcConnectionTest, ALostConnectionIsUnavailable) {
  say_ = [this](const ClientFrame& frame) -> std::string {
    if (frame.header.callid() == 0) loop_.Post([this] { server_.CloseConnections(); });
    return "";
  };
  Connect();
  Call("method", "");
  loop_.Run();
  EXPECT_TRUE(absl::IsUnavailable(results_[0].status())) << results_[0].status();
  EXPECT_TRUE(absl::IsUnavailable(closed_));
}

TEST_F(RpcConnectionTest, NobodyThereIsUnavailable) {
  Endpoint nobody;
  {
    const FakeServer gone(loop_, nullptr);
    nobody = gone.endpoint();
  }
  connection_ = std::make_unique<RpcConnection>(loop_, nobody, "p", RpcIdentity{},
                                                RpcConnectionOptions{}, [](const auto&) {});
  Call("method", "");
  loop_.Run();
  EXPECT_TRUE(absl::IsUnavailable(results_[0].status()));
  EXPECT_THAT(Message(results_[0].status()), HasSubstr(ToString(nobody)));
}

TEST_F(RpcConnectionTest, AServerThatDoesNotAuthenticateInTimeIsUnavailable) {
  say_ = [](const ClientFrame&) { return ""; };
  Connect({.token = Token{}}, {.connect_timeout = milliseconds(500)});
  Call("method", "");
  loop_.Run();
  EXPECT_TRUE(absl::IsUnavailable(results_[0].status()));
  EXPECT_THAT(Message(results_[0].status()), HasSubstr("does not answer within 0.5 s"));
  EXPECT_EQ(server_.preamble().back(), static_cast<char>(-33));
}

TEST_F(RpcConnectionTest, SaysThatItLivesWhileItWaits) {
  int pings = 0;
  say_ = [&](const ClientFrame& frame) -> std::string {
    if (frame.header.callid() != -4) return "";
    return ++pings == 3 ? AnswerFrame(0, "") : "";
  };
  Connect({.user = "alice"}, {.ping_interval = milliseconds(5)});
  Call("method", "");
  loop_.Run();
  EXPECT_TRUE(results_[0].ok());
  EXPECT_EQ(pings, 3);
}

TEST_F(RpcConnectionTest, AFrameBeyondTheLimitIsAnError) {
  say_ = [](const ClientFrame& frame) -> std::string {
    return frame.header.callid() == 0 ? std::string("\x7f\xff\xff\xff", 4) : "";
  };
  Connect();
  Call("method", "");
  loop_.Run();
  EXPECT_TRUE(absl::IsDataLoss(results_[0].status()));
}

// A token says whom it trusts: a server that does not know it gets nothing.
TEST_F(RpcConnectionTest, ATokenIsNotGivenUpForAServerWithoutSecurity) {
  say_ = [](const ClientFrame& frame) -> std::string {
    if (frame.header.callid() != -33) return "";
    ::hadoop::common::RpcSaslProto offer;
    offer.set_state(::hadoop::common::RpcSaslProto::NEGOTIATE);
    auto* const simple = offer.add_auths();
    simple->set_method("SIMPLE");
    simple->set_mechanism("");
    ::hadoop::common::RpcResponseHeaderProto header;
    header.set_callid(static_cast<uint32_t>(-33));
    header.set_status(::hadoop::common::RpcResponseHeaderProto::SUCCESS);
    return EncodeFrame({&header, &offer});
  };
  Connect({.token = Token{.kind = "K"}});
  Call("method", "");
  loop_.Run();
  EXPECT_TRUE(absl::IsUnauthenticated(results_[0].status()));
  EXPECT_THAT(Message(results_[0].status()),
              HasSubstr("by SIMPLE, and there is a token of kind K"));
}

TEST_F(RpcConnectionTest, SuccessBeforeTheServersProofIsAnError) {
  say_ = [](const ClientFrame& frame) -> std::string {
    if (frame.header.callid() != -33) return "";
    ::hadoop::common::RpcSaslProto success;
    success.set_state(::hadoop::common::RpcSaslProto::SUCCESS);
    ::hadoop::common::RpcResponseHeaderProto header;
    header.set_callid(static_cast<uint32_t>(-33));
    header.set_status(::hadoop::common::RpcResponseHeaderProto::SUCCESS);
    return EncodeFrame({&header, &success});
  };
  Connect({.token = Token{}});
  Call("method", "");
  loop_.Run();
  EXPECT_TRUE(absl::IsDataLoss(results_[0].status())) << results_[0].status();
}

TEST_F(RpcConnectionTest, CanBeDestroyedInACallback) {
  Connect();
  connection_->Call("method", "", kTimeout, [this](const auto&) {
    connection_ = nullptr;
    loop_.Stop();
  });
  connection_->Call("other", "", kTimeout, [](const auto&) { FAIL() << "after the end"; });
  loop_.Run();
  EXPECT_EQ(connection_, nullptr);
}

// Whatever a server sends, each call ends, and with an answer or an error.
TEST_F(RpcConnectionTest, SurvivesAnything) {
  const google::protobuf::LogSilencer no_words_about_broken_text;
  std::mt19937 random(1);
  int wrong = 0;
  say_ = [&](const ClientFrame& frame) -> std::string {
    std::string answer = AnswerFrame(0, "body") + ErrorFrame(0, "X") + AnswerFrame(1, "more");
    const size_t changes = 1 + random() % 8;
    for (size_t i = 0; i < changes; ++i) {
      answer[random() % answer.size()] = static_cast<char>(random());
    }
    answer.resize(random() % (answer.size() + 1));
    if (frame.header.callid() == 0) {
      // If the content does not end it, the end of the connection does.
      loop_.Post([this] { loop_.Post([this] { server_.CloseConnections(); }); });
    }
    return answer;
  };
  for (int round = 0; round < 500; ++round) {
    results_.clear();
    // Every other one authenticates.
    Connect(round % 2 == 0 ? RpcIdentity{.user = "alice"} : RpcIdentity{.token = Token{}});
    Call("method", "", milliseconds(10));
    loop_.Run();
    wrong += results_[0].ok() ? 0 : 1;
    EXPECT_FALSE(absl::IsCancelled(results_[0].status()));
  }
  EXPECT_GT(wrong, 100);
}

}  // namespace
}  // namespace tony::hadoop
