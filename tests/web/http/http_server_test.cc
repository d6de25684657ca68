// Connections of the HTTP server: answers, deadlines, and too many of them.
#include "web/http/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/common/any_peer.h"
#include "tests/common/loop_driver.h"
#include "tests/common/raw_client.h"
#include "web/http/gzip.h"

namespace tony::web {
namespace {

using std::chrono::milliseconds;

constexpr char kGet[] = "GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
constexpr char kGetAndStay[] = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n";

using Client = RawClient;

class HttpServerTest : public ::testing::Test {
 protected:
  void Start(HttpServer::Limits limits = {}, const std::string& address = "127.0.0.1") {
    auto server = HttpServer::Start(
        driver_.loop(), address, 0, [this](const PeerEnds& ends) { return peers_(ends); },
        [this](const HttpRequest& request, HttpServer::Respond respond) {
          requests_.push_back(request);
          if (answer_) {
            respond(*answer_);
          } else {
            responds_.push_back(std::move(respond));
          }
          driver_.Changed();
        },
        limits);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  void Connect(Client& client) { client.Connect(driver_, server_->port()); }
  void Send(Client& client, const std::string& bytes) {
    Connect(client);
    client.socket->Write(bytes, [](const absl::Status&) {});
  }
  bool AwaitEnd(Client& client) {
    return driver_.Await([&] { return client.over; });
  }

  LoopDriver driver_;
  PeerCheck peers_ = AnyPeer();
  std::optional<HttpResponse> answer_;
  std::vector<HttpRequest> requests_;
  std::vector<HttpServer::Respond> responds_;
  std::unique_ptr<HttpServer> server_;
};

HttpResponse Text(const std::string& body) {
  HttpResponse response;
  response.body = body;
  return response;
}

TEST_F(HttpServerTest, AnswersAndCloses) {
  Start();
  answer_ = Text(std::string(3 << 20, 'x'));
  Client client;
  Send(client, kGet);
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_EQ(client.received, RenderResponse(*answer_, false));
  ASSERT_EQ(requests_.size(), 1U);
  EXPECT_EQ(requests_[0].path, "/x");
  EXPECT_EQ(requests_[0].peer_address, "127.0.0.1");
}

TEST_F(HttpServerTest, HeadHasNoBody) {
  Start();
  answer_ = Text("body");
  Client client;
  Send(client, "HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_EQ(client.received, RenderResponse(*answer_, true));
}

TEST_F(HttpServerTest, WhatFollowsTheRequestDoesNotHarmTheAnswer) {
  Start();
  answer_ = Text(std::string(1 << 20, 'x'));
  Client client;
  Send(client, kGet + std::string(kGet) + std::string(100'000, 'y'));
  // The server does not wait for a peer that keeps on sending.
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_EQ(client.received.size(), RenderResponse(*answer_, false).size());
  EXPECT_EQ(requests_.size(), 1U);
}

TEST_F(HttpServerTest, AnswersLater) {
  Start();
  Client client;
  Send(client, kGet);
  ASSERT_TRUE(driver_.Await([&] { return responds_.size() == 1; }));
  responds_[0](Text("late"));
  responds_[0](Text("twice"));
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_EQ(client.received, RenderResponse(Text("late"), false));
}

TEST_F(HttpServerTest, AnAnswerMayOutliveConnectionAndServer) {
  Start();
  Client client;
  Send(client, kGet);
  ASSERT_TRUE(driver_.Await([&] { return responds_.size() == 1; }));
  server_.reset();
  ASSERT_TRUE(AwaitEnd(client));
  responds_[0](Text("for nobody"));
}

TEST_F(HttpServerTest, ARequestThatDoesNotComeInTime) {
  Start({.request = milliseconds(20)});
  Client client;
  Send(client, "GET / HTT");
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_EQ(client.received.find("HTTP/1.1 408 "), 0U) << client.received;
}

TEST_F(HttpServerTest, AnAnswerThatDoesNotComeInTime) {
  Start({.handling = milliseconds(20)});
  Client client;
  Send(client, kGet);
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_EQ(client.received.find("HTTP/1.1 504 "), 0U) << client.received;
  responds_[0](Text("late"));
}

TEST_F(HttpServerTest, AClientThatDoesNotTakeItsAnswerIsLeft) {
  Start({.response = milliseconds(50)});
  answer_ = Text(std::string(64 << 20, 'x'));
  Client client;
  client.attempt =
      TcpSocket::Connect(driver_.loop(), "127.0.0.1", server_->port(), [&](auto socket) {
        client.socket = *std::move(socket);
        client.socket->Write(kGet, [](const absl::Status&) {});
      });
  ASSERT_TRUE(driver_.Await([&] { return requests_.size() == 1; }));
  // Its own end of the connection tells, once it reads: less than all, and then no more.
  bool late = false;
  const auto later = driver_.loop().After(milliseconds(200), [&] {
    late = true;
    driver_.Changed();
  });
  ASSERT_TRUE(driver_.Await([&] { return late; }));
  client.Read(driver_);
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_LT(client.received.size(), answer_->body.size());
}

TEST_F(HttpServerTest, WhoIsSilentMakesRoom) {
  Start({.connections = 2});
  answer_ = Text("there was room");
  Client silent, second, third;
  Connect(silent);
  Connect(second);
  Send(third, kGet);
  ASSERT_TRUE(AwaitEnd(third));
  EXPECT_EQ(third.received, RenderResponse(*answer_, false));
  ASSERT_TRUE(AwaitEnd(silent));
  EXPECT_FALSE(second.over);
}

TEST_F(HttpServerTest, WhoHasItsAnswerMakesRoom) {
  Start({.connections = 1});
  answer_ = Text("x");
  // Sends its request, and does not end the connection when the answer is there.
  Client first;
  bool answered = false;
  first.attempt =
      TcpSocket::Connect(driver_.loop(), "127.0.0.1", server_->port(), [&](auto socket) {
        first.socket = *std::move(socket);
        first.socket->Write(kGet, [](const absl::Status&) {});
        first.socket->Read([&](const auto&) {
          answered = true;
          driver_.Changed();
        });
      });
  ASSERT_TRUE(driver_.Await([&] { return answered; }));
  Client second;
  Send(second, kGet);
  ASSERT_TRUE(AwaitEnd(second));
  EXPECT_EQ(second.received, RenderResponse(*answer_, false));
}

TEST_F(HttpServerTest, WhoIsRefusedIsClosedAtOnceAndTakesNoPlace) {
  peers_ = [](const PeerEnds&) { return absl::PermissionDeniedError("a stranger"); };
  Start({.connections = 1});
  answer_ = Text("for the owner");
  std::vector<Client> strangers(10);
  for (Client& stranger : strangers) {
    Send(stranger, kGet);
    ASSERT_TRUE(AwaitEnd(stranger));
    EXPECT_EQ(stranger.received, "");
  }
  EXPECT_TRUE(requests_.empty());
  peers_ = AnyPeer();
  Client owner;
  Send(owner, kGet);
  ASSERT_TRUE(AwaitEnd(owner));
  EXPECT_EQ(owner.received, RenderResponse(*answer_, false));
}

TEST_F(HttpServerTest, BadRequestsAreAnswered) {
  Start();
  Client client;
  Send(client, "nonsense\r\n\r\n");
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_EQ(client.received.find("HTTP/1.1 400 "), 0U) << client.received;
  EXPECT_TRUE(requests_.empty());
}

/// How often `part` stands in `text`.
size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(HttpServerTest, SeveralRequestsOnOneConnection) {
  Start();
  answer_ = Text("answer");
  Client client;
  Connect(client);
  for (size_t number = 1; number <= 3; ++number) {
    client.socket->Write(kGetAndStay, [](const absl::Status&) {});
    ASSERT_TRUE(driver_.Await([&] { return Count(client.received, "answer") == number; }));
  }
  EXPECT_EQ(Count(client.received, "Connection: keep-alive\r\n"), 3U);
  client.socket->Write(kGet, [](const absl::Status&) {});
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_EQ(Count(client.received, "Connection: close\r\n"), 1U);
  EXPECT_EQ(requests_.size(), 4U);
}

TEST_F(HttpServerTest, AnIdleConnectionIsClosedWithoutAWord) {
  Start({.idle = milliseconds(20)});
  answer_ = Text("answer");
  Client client;
  Send(client, kGetAndStay);
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_EQ(client.received, RenderResponse(*answer_, false, true));
}

TEST_F(HttpServerTest, HalfASecondRequestIsToldThatItIsLate) {
  Start({.request = milliseconds(50)});
  answer_ = Text("answer");
  Client client;
  Connect(client);
  client.socket->Write(kGetAndStay, [](const absl::Status&) {});
  ASSERT_TRUE(driver_.Await([&] { return Count(client.received, "answer") == 1; }));
  client.socket->Write("GET / HT", [](const absl::Status&) {});
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_EQ(Count(client.received, "HTTP/1.1 408 "), 1U);
}

TEST_F(HttpServerTest, AnIdleConnectionMakesRoom) {
  Start({.connections = 1});
  answer_ = Text("answer");
  Client idle, second;
  Send(idle, kGetAndStay);
  ASSERT_TRUE(driver_.Await([&] { return Count(idle.received, "answer") == 1; }));
  Send(second, kGet);
  ASSERT_TRUE(AwaitEnd(second));
  EXPECT_EQ(second.received, RenderResponse(*answer_, false));
  ASSERT_TRUE(AwaitEnd(idle));
}

TEST_F(HttpServerTest, TheHandlerHearsThatNobodyWaits) {
  Start();
  Client client;
  Send(client, kGet);
  ASSERT_TRUE(driver_.Await([&] { return responds_.size() == 1; }));
  EXPECT_FALSE(requests_[0].abandoned->load());
  client.socket.reset();
  ASSERT_TRUE(driver_.Await([&] {
    if (!requests_[0].abandoned->load()) driver_.Changed();
    return requests_[0].abandoned->load();
  }));
  responds_[0](Text("for nobody"));
}

TEST_F(HttpServerTest, ErrorsAreProblemsUnlessHtmlIsAccepted) {
  Start();
  answer_ = ErrorResponse(404, "There is no such thing.");
  Client program;
  Send(program, kGet);
  ASSERT_TRUE(AwaitEnd(program));
  EXPECT_EQ(Count(program.received, "Content-Type: application/problem+json\r\n"), 1U);
  EXPECT_EQ(Count(program.received, "\"detail\":\"There is no such thing.\""), 1U);
  Client browser;
  Send(browser, "GET / HTTP/1.1\r\nHost: h\r\nAccept: text/html,*/*\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(AwaitEnd(browser));
  EXPECT_EQ(browser.received, RenderResponse(*answer_, false));
}

/// An IPv4 address of this machine that is not on loopback; empty: it has none.
std::string OuterAddress() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "";
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    if ((entry->ifa_flags & IFF_LOOPBACK) != 0 || (entry->ifa_flags & IFF_UP) == 0) continue;
    char text[INET_ADDRSTRLEN];
    const void* const bytes = &reinterpret_cast<sockaddr_in*>(entry->ifa_addr)->sin_addr;
    if (inet_ntop(AF_INET, bytes, text, sizeof text) != nullptr) return text;
  }
  return "";
}

constexpr char kGetPacked[] =
    "GET /x HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n";

TEST_F(HttpServerTest, OnLoopbackNothingIsCompressed) {
  Start();
  answer_ = Text(std::string(100'000, 'x'));
  Client client;
  Send(client, kGetPacked);
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_EQ(client.received, RenderResponse(*answer_, false));
}

TEST_F(HttpServerTest, LongAnswersAreCompressedForOtherHostsThatAcceptIt) {
  const std::string address = OuterAddress();
  if (address.empty()) GTEST_SKIP() << "this machine has no address but loopback's";
  Start({}, "0.0.0.0");
  const auto ask = [&](const std::string& request) {
    Client client;
    client.Connect(driver_, server_->port(), address);
    client.socket->Write(request, [](const absl::Status&) {});
    EXPECT_TRUE(AwaitEnd(client));
    EXPECT_EQ(requests_.back().peer_address, address);
    return client.received;
  };
  answer_ = Text(std::string(100'000, 'x'));
  const std::string packed = ask(kGetPacked);
  EXPECT_NE(packed.find("\r\nContent-Encoding: gzip\r\n"), std::string::npos);
  EXPECT_NE(packed.find("\r\nVary: Accept-Encoding\r\n"), std::string::npos);
  EXPECT_LT(packed.size(), 2000U);
  EXPECT_EQ(Gunzip(packed.substr(packed.find("\r\n\r\n") + 4)), answer_->body);
  EXPECT_EQ(ask(kGet), RenderResponse(*answer_, false));
  answer_ = Text(std::string(1000, 'x'));
  EXPECT_EQ(ask(kGetPacked), RenderResponse(*answer_, false)) << "a short one gains nothing";
}

/// Gives what the test puts into it.
class TestSource : public BodySource {
 public:
  void Next(Take take) override { take_ = std::move(take); }
  bool asked() const { return take_ != nullptr; }
  void Give(absl::StatusOr<std::shared_ptr<const std::string>> piece) {
    std::exchange(take_, nullptr)(std::move(piece));
  }
  void Give(const std::string& piece) { Give(std::make_shared<const std::string>(piece)); }

 private:
  Take take_;
};

HttpResponse StreamOf(std::shared_ptr<BodySource> source) {
  HttpResponse response;
  response.content_type = "text/event-stream";
  response.source = std::move(source);
  return response;
}

TEST_F(HttpServerTest, AStreamComesPieceByPiece) {
  Start();
  const auto source = std::make_shared<TestSource>();
  answer_ = StreamOf(source);
  Client client;
  Send(client, kGetAndStay);
  ASSERT_TRUE(driver_.Await([&] { return source->asked(); }));
  source->Give("one,");
  ASSERT_TRUE(
      driver_.Await([&] { return source->asked() && Count(client.received, "one,") == 1; }));
  source->Give("two");
  ASSERT_TRUE(driver_.Await([&] { return source->asked(); }));
  source->Give(std::shared_ptr<const std::string>());
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_EQ(client.received, RenderResponse(*answer_, false) + "one,two");
}

TEST_F(HttpServerTest, AStreamThatFailsBreaks) {
  Start();
  const auto source = std::make_shared<TestSource>();
  answer_ = StreamOf(source);
  answer_->source_bytes = 100;
  Client client;
  Send(client, kGet);
  ASSERT_TRUE(driver_.Await([&] { return source->asked(); }));
  source->Give(absl::DataLossError("a part of it is gone"));
  ASSERT_TRUE(AwaitEnd(client));
  EXPECT_EQ(Count(client.received, "Content-Length: 100\r\n"), 1U);
}

TEST_F(HttpServerTest, WhoDoesNotReadItsStreamIsLeft) {
  Start({.piece = milliseconds(50)});
  std::weak_ptr<TestSource> source;
  Client client;
  client.attempt =
      TcpSocket::Connect(driver_.loop(), "127.0.0.1", server_->port(), [&](auto socket) {
        client.socket = *std::move(socket);
        client.socket->Write(kGet, [](const absl::Status&) {});
      });
  ASSERT_TRUE(driver_.Await([&] { return responds_.size() == 1; }));
  {
    const auto made = std::make_shared<TestSource>();
    source = made;
    responds_[0](StreamOf(made));
  }
  ASSERT_TRUE(driver_.Await([&] {
    const auto here = source.lock();
    if (here != nullptr && here->asked()) here->Give(std::string(64 << 20, 'x'));
    if (here != nullptr) driver_.Changed();
    return here == nullptr;
  }));
}

TEST_F(HttpServerTest, ManyStreamsLeaveRoomForRequests) {
  constexpr size_t kStreams = 500;
  Start({.connections = 4, .streams = kStreams});
  std::vector<Client> clients(kStreams);
  std::vector<std::shared_ptr<TestSource>> sources;
  for (Client& client : clients) {
    sources.push_back(std::make_shared<TestSource>());
    answer_ = StreamOf(sources.back());
    Send(client, kGet);
    ASSERT_TRUE(driver_.Await([&] { return sources.back()->asked(); })) << sources.size();
  }
  // One stream too many is refused; a request is answered, and the streams are still there.
  Client late, other;
  Send(late, kGet);
  ASSERT_TRUE(AwaitEnd(late));
  EXPECT_EQ(late.received.find("HTTP/1.1 503 "), 0U);
  EXPECT_EQ(Count(late.received, "Retry-After: "), 1U);
  answer_ = Text("answer");
  Send(other, kGet);
  ASSERT_TRUE(AwaitEnd(other));
  EXPECT_EQ(other.received, RenderResponse(*answer_, false));
  const auto shared = std::make_shared<const std::string>("news");
  for (const auto& source : sources) source->Give(shared);
  ASSERT_TRUE(driver_.Await([&] {
    return std::all_of(clients.begin(), clients.end(), [](const Client& client) {
      return Count(client.received, "news") == 1 && !client.over;
    });
  }));
}

}  // namespace
}  // namespace tony::web
