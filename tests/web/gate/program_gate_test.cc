// Connections through the gate: what is carried, and everything that may go wrong on either side.
#include "web/gate/program_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "tests/common/any_peer.h"
#include "tests/common/raw_client.h"
#include "tests/web/gate/fake_program.h"

namespace tony::web {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// More than the buffers of two sockets hold.
constexpr size_t kMuch = size_t{64} << 20;

constexpr char kOk[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

class ProgramGateTest : public ::testing::Test {
 protected:
  /// The gate, and a visitor's cookie for it.
  void Start(GateLimits limits = {}) {
    Listen(limits);
    LogIn();
  }
  void Listen(GateLimits limits) {
    auto gate = ProgramGate::Start(driver_.loop(), clock_, AnyPeer(), program_,
                                   {.job_id = "job-1", .page_port = 8080, .limits = limits});
    ASSERT_TRUE(gate.ok()) << gate.status();
    gate_ = *std::move(gate);
  }
  void LogIn() {
    RawClient visitor;
    const std::string url = gate_->Invite();
    Send(visitor, Head("GET", url.substr(url.find('/', 7)), ""));
    ASSERT_TRUE(AwaitEnd(visitor));
    const size_t begin = visitor.received.find("tony-program-");
    ASSERT_NE(begin, std::string::npos) << visitor.received;
    cookie_ = visitor.received.substr(begin, visitor.received.find(';', begin) - begin);
  }

  std::string Head(const std::string& method, const std::string& target, const std::string& cookie,
                   const std::string& more = "") const {
    return absl::StrCat(method, " ", target, " HTTP/1.1\r\nHost: 127.0.0.1:", gate_->port(),
                        "\r\nAccept: text/html\r\n",
                        cookie.empty() ? "" : absl::StrCat("Cookie: ", cookie, "\r\n"), more,
                        "\r\n");
  }
  std::string Get(const std::string& target = "/") const { return Head("GET", target, cookie_); }

  void Send(RawClient& client, const std::string& bytes) {
    client.Connect(driver_, gate_->port());
    client.socket->Write(bytes, [](const absl::Status&) {});
  }
  bool AwaitEnd(RawClient& client) {
    return driver_.Await([&] { return client.over; });
  }
  /// The program's end of the newest connection, once the gate has sent it `bytes`.
  bool AwaitRequest(size_t end, const std::string& bytes) {
    return driver_.Await([&] {
      return program_.ends.size() > end && absl::StrContains(program_.ends[end]->received, bytes);
    });
  }

  /// A visitor of its own gets what the program says; false if it doesn't.
  bool ServeAnother() {
    const size_t end = program_.ends.size();
    RawClient other;
    Send(other, Get());
    if (!AwaitRequest(end, "\r\n\r\n")) return false;
    program_.Say(end, std::string(kOk));
    program_.Say(end, std::string());
    return AwaitEnd(other);
  }

  /// Begins to write `bytes`, and returns when all are written, or when no more of them are while
  /// several other visitors are served. What is left then is written on.
  void WriteUntilHeldBack(RawClient& client, const std::string& bytes) {
    outgoing_ = bytes;
    written_ = 0;
    WritePiece(client);
    constexpr int kVisits = 10;
    size_t before = 0;
    for (int visits = 0; visits < kVisits && !AllWritten(); ++visits) {
      ASSERT_TRUE(ServeAnother());
      if (written_ > before) visits = 0;
      before = written_;
    }
  }
  void WritePiece(RawClient& client) {
    constexpr size_t kPiece = size_t{1} << 20;
    std::string piece = outgoing_.substr(written_, kPiece);
    const size_t bytes = piece.size();
    client.socket->Write(std::move(piece), [this, &client, bytes](const absl::Status& status) {
      ASSERT_TRUE(status.ok()) << status;
      written_ += bytes;
      driver_.Changed();
      if (!AllWritten()) WritePiece(client);
    });
  }
  bool AllWritten() const { return written_ == outgoing_.size(); }

  LoopDriver driver_;
  FakeClock clock_;
  FakeProgram program_{driver_};
  std::unique_ptr<ProgramGate> gate_;
  std::string cookie_;
  std::string outgoing_;
  size_t written_ = 0;  ///< bytes of it
};

TEST_F(ProgramGateTest, CarriesARequestAndItsResponse) {
  Start();
  RawClient client;
  Send(client, Get("/data/runs"));
  ASSERT_TRUE(AwaitRequest(0, "\r\n\r\n"));
  EXPECT_EQ(program_.ends[0]->received,
            absl::StrCat("GET /data/runs HTTP/1.1\r\nHost: 127.0.0.1:", gate_->port(),
                         "\r\nAccept: text/html\r\nConnection: close\r\n\r\n"));
  program_.Say(0, std::string("HTTP/1.0 200 OK\r\nX: y"));
  program_.Say(0, std::string("\r\n\r\nhel"));
  program_.Say(0, std::string("lo"));
  program_.Say(0, std::string());
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_EQ(client.received,
            "HTTP/1.1 200 OK\r\nX: y\r\nContent-Security-Policy: frame-ancestors 'self' "
            "http://127.0.0.1:8080\r\nConnection: close\r\n\r\nhello");
  EXPECT_TRUE(program_.ends[0]->gone);
}

TEST_F(ProgramGateTest, NoForeignPageShowsTheProgramInAFrame) {
  Start();
  RawClient client;
  Send(client, Get());
  ASSERT_TRUE(AwaitRequest(0, "\r\n\r\n"));
  program_.Say(0, std::string("HTTP/1.0 200 OK\r\nX-Frame-Options: SAMEORIGIN\r\n"
                              "Content-Security-Policy: frame-ancestors *\r\n\r\n"));
  program_.Say(0, std::string());
  ASSERT_TRUE(AwaitEnd(client));
  // Both policies apply, so the program's own can only forbid more.
  EXPECT_THAT(client.received, HasSubstr("\r\nContent-Security-Policy: frame-ancestors *\r\n"
                                         "Content-Security-Policy: frame-ancestors 'self' "
                                         "http://127.0.0.1:8080"));
}

TEST_F(ProgramGateTest, NoSecondRequestPassesUnchecked) {
  Start();
  RawClient client;
  const std::string second = Head("GET", "/second", "");
  Send(client, Head("POST", "/first", cookie_, "Content-Length: 4\r\n") + "body" + second);
  ASSERT_TRUE(AwaitRequest(0, "body"));
  client.socket->Write(second, [](const absl::Status&) {});
  program_.Say(0, std::string(kOk));
  program_.Say(0, std::string());
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_THAT(program_.ends[0]->received, Not(HasSubstr("second")));
  EXPECT_EQ(program_.ends.size(), 1U);
}

TEST_F(ProgramGateTest, ALargeBodyPassesPieceByPiece) {
  Start();
  RawClient client;
  const std::string body(5 << 20, 'x');
  Send(client,
       Head("PUT", "/", cookie_, absl::StrCat("Content-Length: ", body.size(), "\r\n")) + body);
  ASSERT_TRUE(driver_.Await(
      [&] { return !program_.ends.empty() && program_.ends[0]->received.size() > body.size(); }));
  program_.Say(0, std::string(kOk));
  program_.Say(0, std::string());
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_THAT(client.received, HasSubstr("hello"));
  EXPECT_EQ(program_.ends[0]->received.substr(program_.ends[0]->received.find("\r\n\r\n") + 4),
            body);
}

TEST_F(ProgramGateTest, AWebSocketIsCarriedBothWays) {
  Start();
  RawClient client;
  Send(client,
       Head("GET", "/ws", cookie_, "Connection: Upgrade\r\nUpgrade: websocket\r\n") + "early");
  ASSERT_TRUE(AwaitRequest(0, "Connection: Upgrade\r\n\r\n"));
  EXPECT_THAT(program_.ends[0]->received, Not(HasSubstr("early")));
  program_.Say(0, std::string("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                              "Connection: Upgrade\r\nSec-WebSocket-Accept: k\r\n\r\nfirst"));
  ASSERT_TRUE(AwaitRequest(0, "\r\n\r\nearly"));
  for (const std::string word : {"one", "two", "three"}) {
    client.socket->Write(word, [](const absl::Status&) {});
    ASSERT_TRUE(AwaitRequest(0, word));
    program_.Say(0, "echo " + word);
    ASSERT_TRUE(driver_.Await([&] { return absl::EndsWith(client.received, "echo " + word); }));
  }
  EXPECT_EQ(client.received,
            "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: k\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\n\r\nfirstecho oneecho twoecho three");
  client.socket.reset();
  ASSERT_TRUE(driver_.Await([&] { return program_.ends[0]->gone; }));
}

TEST_F(ProgramGateTest, ARefusedWebSocketIsAnOrdinaryResponse) {
  Start();
  RawClient client;
  Send(client, Head("GET", "/ws", cookie_, "Connection: Upgrade\r\nUpgrade: websocket\r\n"));
  ASSERT_TRUE(AwaitRequest(0, "\r\n\r\n"));
  program_.Say(0, std::string("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"));
  ASSERT_TRUE(driver_.Await([&] { return absl::EndsWith(client.received, "\r\n\r\n"); }));
  EXPECT_THAT(client.received, HasSubstr("Connection: close\r\n"));
  client.socket->Write(Head("GET", "/second", ""), [](const absl::Status&) {});
  program_.Say(0, std::string());
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_THAT(program_.ends[0]->received, Not(HasSubstr("second")));
}

TEST_F(ProgramGateTest, AProtocolThatNobodyAskedFor) {
  Start();
  RawClient client;
  Send(client, Get());
  ASSERT_TRUE(AwaitRequest(0, "\r\n\r\n"));
  program_.Say(0, std::string("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                              "Connection: Upgrade\r\n\r\n"));
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_THAT(client.received, StartsWith("HTTP/1.1 502 "));
}

TEST_F(ProgramGateTest, WithoutACookieNothingIsOpened) {
  Start();
  for (const std::string& cookie : {std::string(), cookie_ + "0", std::string("tony-page=1")}) {
    RawClient client;
    Send(client, Head("GET", "/", cookie));
    ASSERT_TRUE(AwaitEnd(client));
    EXPECT_THAT(client.received, StartsWith("HTTP/1.1 403 "));
    // The job's page may show the sentence in its frame; nobody else may.
    EXPECT_THAT(client.received, HasSubstr("frame-ancestors http://127.0.0.1:8080;"));
  }
  EXPECT_TRUE(program_.ends.empty());
}

TEST_F(ProgramGateTest, NothingListens) {
  Start();
  program_.up = false;
  RawClient client;
  Send(client, Get());
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_THAT(client.received, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(client.received, HasSubstr("\r\nRefresh: 2\r\n"));
  EXPECT_THAT(client.received, HasSubstr("nothing listens there"));
}

TEST_F(ProgramGateTest, TheProgramDiesBeforeItsAnswer) {
  Start();
  RawClient refused;
  Send(refused, Get());
  ASSERT_TRUE(AwaitRequest(0, "\r\n\r\n"));
  program_.Say(0, absl::UnavailableError("connection refused"));
  ASSERT_TRUE(AwaitEnd(refused));
  EXPECT_THAT(refused.received, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(refused.received, HasSubstr("connection refused"));

  RawClient silent;
  Send(silent, Get());
  ASSERT_TRUE(AwaitRequest(1, "\r\n\r\n"));
  program_.Say(1, std::string());
  ASSERT_TRUE(AwaitEnd(silent));
  EXPECT_THAT(silent.received, StartsWith("HTTP/1.1 502 "));
}

TEST_F(ProgramGateTest, WhatIsCutShortDoesNotLookComplete) {
  Start();
  RawClient client;
  bool broken = false;
  client.attempt =
      TcpSocket::Connect(driver_.loop(), "127.0.0.1", gate_->port(), [&](auto connected) {
        client.socket = *std::move(connected);
        client.socket->Write(Get(), [](const absl::Status&) {});
      });
  ASSERT_TRUE(AwaitRequest(0, "\r\n\r\n"));
  program_.Say(0, std::string("HTTP/1.0 200 OK\r\n\r\nhalf"));
  program_.Say(0, absl::UnavailableError("the task's end is gone"));
  std::function<void()> read = [&] {
    client.socket->Read([&](const absl::StatusOr<std::string>& bytes) {
      broken = !bytes.ok();
      driver_.Changed();
      if (bytes.ok() && !bytes->empty()) read();
    });
  };
  read();
  EXPECT_TRUE(driver_.Await([&] { return broken; }));
}

TEST_F(ProgramGateTest, WhatIsNoHttp) {
  Start();
  RawClient client;
  Send(client, Get());
  ASSERT_TRUE(AwaitRequest(0, "\r\n\r\n"));
  program_.Say(0, std::string("SSH-2.0-OpenSSH_9.2\r\n\r\n"));
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_THAT(client.received, StartsWith("HTTP/1.1 502 "));
}

TEST_F(ProgramGateTest, AClientThatGoesAwayEndsTheTunnel) {
  Start();
  RawClient client;
  Send(client, Get());
  ASSERT_TRUE(AwaitRequest(0, "\r\n\r\n"));
  client.socket.reset();
  EXPECT_TRUE(driver_.Await([&] { return program_.ends[0]->gone; }));
}

TEST_F(ProgramGateTest, BytesBehindTheRequestDoNotHideThatTheClientGoesAway) {
  Start();
  const std::string upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  const std::vector<std::string> requests = {Get() + "\r\n",
                                             Head("POST", "/", cookie_, "Content-Length: 4\r\n"),
                                             Head("GET", "/ws", cookie_, upgrade) + "early"};
  for (const std::string& request : requests) {
    const size_t own = program_.ends.size();
    RawClient client;
    Send(client, request);
    ASSERT_TRUE(AwaitRequest(own, "\r\n\r\n"));
    // One piece with the end of the body and more, and others behind it.
    for (const std::string more : {"body\r\n", "more", "and more"}) {
      client.socket->Write(more, [](const absl::Status&) {});
      ASSERT_TRUE(ServeAnother());  // the gate has had the time to read it
    }
    client.socket->EndWriting();
    EXPECT_TRUE(driver_.Await([&] { return program_.ends[own]->gone; })) << request;
    EXPECT_THAT(program_.ends[own]->received, Not(HasSubstr("more"))) << request;
  }
}

TEST_F(ProgramGateTest, EarlyBytesOfAWebSocketAreBoundedAndComeInOrder) {
  Start();
  RawClient client;
  Send(client, Head("GET", "/ws", cookie_, "Connection: Upgrade\r\nUpgrade: websocket\r\n"));
  ASSERT_TRUE(AwaitRequest(0, "\r\n\r\n"));
  const size_t head = program_.ends[0]->received.size();
  std::string sent;
  for (int i = 0; sent.size() < kMuch; ++i) absl::StrAppend(&sent, i, ",");
  WriteUntilHeldBack(client, sent);
  EXPECT_FALSE(AllWritten());
  program_.Say(0, std::string("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                              "Connection: Upgrade\r\n\r\n"));
  ASSERT_TRUE(
      driver_.Await([&] { return program_.ends[0]->received.size() == head + sent.size(); }));
  EXPECT_TRUE(program_.ends[0]->received.substr(head) == sent);
}

TEST_F(ProgramGateTest, EarlyBytesOfARefusedWebSocketAreDropped) {
  Start();
  RawClient client;
  Send(client, Head("GET", "/ws", cookie_, "Connection: Upgrade\r\nUpgrade: websocket\r\n"));
  ASSERT_TRUE(AwaitRequest(0, "\r\n\r\n"));
  const std::string request = program_.ends[0]->received;
  const std::string sent(kMuch, 'x');
  WriteUntilHeldBack(client, sent);
  EXPECT_FALSE(AllWritten());
  program_.Say(0, std::string("HTTP/1.1 403 Forbidden\r\n\r\n"));
  ASSERT_TRUE(driver_.Await([&] { return AllWritten(); }));
  client.socket->EndWriting();
  EXPECT_TRUE(driver_.Await([&] { return program_.ends[0]->gone; }));
  EXPECT_EQ(program_.ends[0]->received, request);
}

// Each of these has one short deadline, the one that is to pass.
constexpr milliseconds kShort{100};

TEST_F(ProgramGateTest, ASlowHead) {
  Listen({.request = kShort});
  RawClient client;
  Send(client, "GET / HTT");
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_THAT(client.received, StartsWith("HTTP/1.1 408 "));
}

TEST_F(ProgramGateTest, ASlowBody) {
  Start({.body = kShort});
  RawClient client;
  Send(client, Head("POST", "/", cookie_, "Content-Length: 9\r\n") + "half");
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_THAT(client.received, StartsWith("HTTP/1.1 408 "));
  EXPECT_TRUE(program_.ends.at(0)->gone);
}

TEST_F(ProgramGateTest, AProgramThatDoesNotAnswer) {
  Start({.answer = kShort});
  RawClient client;
  Send(client, Get());
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_THAT(client.received, StartsWith("HTTP/1.1 504 "));
  EXPECT_TRUE(program_.ends.at(0)->gone);
}

TEST_F(ProgramGateTest, AnAnswerThatStops) {
  Start({.silence = kShort});
  RawClient client;
  Send(client, Get());
  ASSERT_TRUE(AwaitRequest(0, "\r\n\r\n"));
  program_.Say(0, std::string("HTTP/1.1 200 OK\r\n\r\nhalf"));
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_TRUE(program_.ends.at(0)->gone);
}

TEST_F(ProgramGateTest, ManyConnections) {
  Start({.connections = 4});
  // Those that have asked for nothing give way.
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 6; ++i) {
    idle.push_back(std::make_unique<RawClient>());
    idle.back()->Connect(driver_, gate_->port());
  }
  ASSERT_TRUE(driver_.Await([&] { return idle[0]->over && idle[1]->over; }));
  EXPECT_FALSE(idle[5]->over);
  // Those that wait for an answer stay, and the one too many is closed.
  std::vector<std::unique_ptr<RawClient>> busy;
  for (size_t i = 0; i < 4; ++i) {
    busy.push_back(std::make_unique<RawClient>());
    Send(*busy.back(), Get());
    ASSERT_TRUE(AwaitRequest(i, "\r\n\r\n"));
  }
  RawClient last;
  Send(last, Get());
  ASSERT_TRUE(AwaitEnd(last));
  EXPECT_EQ(last.received, "");
  for (size_t i = 0; i < 4; ++i) {
    program_.Say(i, std::string(kOk));
    program_.Say(i, std::string());
    ASSERT_TRUE(AwaitEnd(*busy[i]));
    EXPECT_THAT(busy[i]->received, HasSubstr("hello"));
  }
}

TEST_F(ProgramGateTest, ASlowProgramHoldsItsClientBack) {
  Start();
  RawClient client;
  Send(client, Head("POST", "/", cookie_, "Content-Length: 300000000\r\n"));
  ASSERT_TRUE(AwaitRequest(0, "\r\n\r\n"));
  program_.ends[0]->slow = true;
  // The gate takes a piece, and the sockets' buffers some more. The rest stays at the client.
  WriteUntilHeldBack(client, std::string(kMuch, 'x'));
  EXPECT_FALSE(AllWritten());
}

}  // namespace
}  // namespace tony::web
