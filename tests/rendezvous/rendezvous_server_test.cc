// Tests the rendezvous server's answers, to workers and to others.
#include "rendezvous/rendezvous_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/tcp_socket.h"
#include "os/files/unique_fd.h"
#include "rendezvous/local_store.h"
#include "tests/common/any_peer.h"
#include "tests/common/loop_driver.h"
#include "tests/common/raw_client.h"

namespace tony::rendezvous {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kEmpty[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
constexpr char kMissing[] =
    "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

std::string Found(const std::string& value) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(value.size()) +
         "\r\nConnection: close\r\n\r\n" + value;
}

std::string Request(const std::string& method, const std::string& target,
                    const std::string& body = "") {
  return method + " " + target +
         " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

/// Carries out nothing, until the test says so.
class StubbornStore : public KeyValueStore {
 public:
  core::Blob Get(const std::string&, const std::string&) override { return nullptr; }
  std::unique_ptr<EventLoop::Handle> Await(const std::string&, const std::string&,
                                           OnValue) override {
    return std::make_unique<EventLoop::Handle>();
  }
  void Put(const std::string&, const std::string&, core::Blob, OnDone on_done) override {
    pending.push_back(std::move(on_done));
  }
  void Remove(const std::string&, const std::string&, OnDone on_done) override {
    pending.push_back(std::move(on_done));
  }

  std::vector<OnDone> pending;
};

using Client = RawClient;

class RendezvousServerTest : public ::testing::Test {
 protected:
  void Start(RendezvousServer::Limits limits = {}) { StartWith(store_, limits); }
  void StartWith(KeyValueStore& store, RendezvousServer::Limits limits) {
    auto server = RendezvousServer::Start(
        driver_.loop(), store, 0, [this](const PeerEnds& ends) { return peers_(ends); }, limits);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  void Connect(Client& client) { client.Connect(driver_, server_->port()); }
  void Send(Client& client, const std::string& bytes) {
    if (client.socket == nullptr) Connect(client);
    client.socket->Write(bytes, [](const absl::Status&) {});
  }
  /// The answer to `bytes` until the server closes the connection.
  std::string Answer(const std::string& bytes) {
    Client client;
    Send(client, bytes);
    EXPECT_TRUE(driver_.Await([&] { return client.over; }));
    return client.received;
  }
  /// Until the server has as many connections.
  bool AwaitConnections(size_t count) {
    return AwaitState([this, count] { return server_->connections() == count; });
  }
  /// For conditions that do not call Changed(): checks again after each turn of the loop.
  template <typename Condition>
  bool AwaitState(Condition condition) {
    return driver_.Await([&] {
      if (condition()) return true;
      look_again_ = driver_.loop().After(milliseconds(1), [this] { driver_.Changed(); });
      return false;
    });
  }

  LoopDriver driver_;
  PeerCheck peers_ = AnyPeer();
  std::unique_ptr<EventLoop::Handle> look_again_;
  LocalStore store_{driver_.loop(), {.bytes = 8 << 20, .keys = 100}};
  std::unique_ptr<RendezvousServer> server_;
};

TEST_F(RendezvousServerTest, AnswersExactly) {
  Start();
  EXPECT_EQ(Answer(Request("GET", "/scope/key")), kMissing);
  EXPECT_EQ(Answer(Request("PUT", "/scope/key", "value")), kEmpty);
  EXPECT_EQ(Answer(Request("GET", "/scope/key")), Found("value"));
  EXPECT_EQ(Answer(Request("GET", "/other/key")), kMissing);
  EXPECT_EQ(Answer(Request("PUT", "/scope/key", "")), kEmpty);
  EXPECT_EQ(Answer(Request("GET", "/scope/key")), Found(""));
  EXPECT_EQ(Answer(Request("DELETE", "/scope/key")), kEmpty);
  EXPECT_EQ(Answer(Request("GET", "/scope/key")), kMissing);
  EXPECT_EQ(Answer(Request("DELETE", "/scope/key")), kEmpty);
  EXPECT_TRUE(AwaitConnections(0));
}

TEST_F(RendezvousServerTest, ValuesAreBytes) {
  Start();
  std::string value(3 << 20, '\0');
  for (size_t i = 0; i < value.size(); ++i) value[i] = static_cast<char>(i * 7 % 251);
  EXPECT_EQ(Answer(Request("PUT", "/scope/key", value)), kEmpty);
  EXPECT_TRUE(Answer(Request("GET", "/scope/key")) == Found(value));
}

TEST_F(RendezvousServerTest, RequestsComeInPieces) {
  Start();
  const std::string request = Request("PUT", "/scope/key", "value");
  Client client;
  Connect(client);
  for (const char byte : request) {
    bool written = false;
    client.socket->Write(std::string(1, byte), [&](const absl::Status& status) {
      EXPECT_TRUE(status.ok()) << status;
      written = true;
      driver_.Changed();
    });
    ASSERT_TRUE(driver_.Await([&] { return written; }));
  }
  ASSERT_TRUE(driver_.Await([&] { return client.over; }));
  EXPECT_EQ(client.received, kEmpty);
  EXPECT_EQ(*store_.Get("scope", "key"), "value");
}

TEST_F(RendezvousServerTest, AFunctionAndItsResults) {
  Start();
  EXPECT_EQ(Answer(Request("PUT", "/runfunc/func", "gASV")), kEmpty);
  EXPECT_EQ(Answer(Request("GET", "/runfunc/func")), Found("gASV"));
  EXPECT_EQ(Answer(Request("GET", "/runfunc/func")), Found("gASV"));
  EXPECT_EQ(Answer(Request("PUT", "/runfunc_result/1", "gASx")), kEmpty);
  EXPECT_EQ(Answer(Request("GET", "/runfunc_result/1")), Found("gASx"));
}

TEST_F(RendezvousServerTest, HoldsAnAddressUntilItIsPut) {
  Start();
  std::vector<Client> clients(5);
  for (Client& client : clients) Send(client, Request("GET", "/global/3"));
  ASSERT_TRUE(AwaitState([this] { return server_->counts().held == 5; }));
  EXPECT_EQ(Answer(Request("PUT", "/global/2", "other")), kEmpty);
  EXPECT_EQ(Answer(Request("PUT", "/global/3", "value")), kEmpty);
  for (Client& client : clients) {
    ASSERT_TRUE(driver_.Await([&] { return client.over; }));
    EXPECT_EQ(client.received, Found("value"));
  }
  EXPECT_EQ(server_->counts().missing, 0U);
}

TEST_F(RendezvousServerTest, HoldsNoNames) {
  Start({.hold = milliseconds(3'600'000)});
  EXPECT_EQ(Answer(Request("GET", "/global/rank_3")), kMissing);
  EXPECT_EQ(Answer(Request("GET", "/runfunc/func")), kMissing);
  EXPECT_EQ(server_->counts().held, 0U);
}

TEST_F(RendezvousServerTest, HoldsNotForEver) {
  Start({.hold = milliseconds(10)});
  EXPECT_EQ(Answer(Request("GET", "/global/3")), kMissing);
  EXPECT_EQ(server_->counts().held, 1U);
}

// A worker of an elastic job would take "not there" for its new place.
TEST_F(RendezvousServerTest, HoldsANewPlaceUntilItIsKnown) {
  Start({.hold = milliseconds(10)});
  Client client;
  Send(client, Request("GET", "/rank_and_size/host:0"));
  ASSERT_TRUE(AwaitState([this] { return server_->counts().held == 1; }));
  EXPECT_EQ(Answer(Request("GET", "/global/3")), kMissing);
  EXPECT_EQ(client.received, "");
  store_.Put("rank_and_size", "host:0", std::make_shared<const std::string>("0,1,0,1,0,1"),
             [](const absl::Status&) {});
  ASSERT_TRUE(driver_.Await([&] { return client.over; }));
  EXPECT_EQ(client.received, Found("0,1,0,1,0,1"));
}

TEST_F(RendezvousServerTest, AClientThatGoesDoesNotWaitAnyLonger) {
  Start({.hold = milliseconds(3'600'000)});
  auto client = std::make_unique<Client>();
  Send(*client, Request("GET", "/global/3"));
  ASSERT_TRUE(AwaitState([this] { return server_->counts().held == 1; }));
  client.reset();
  EXPECT_TRUE(AwaitConnections(0));
  EXPECT_EQ(Answer(Request("PUT", "/global/3", "value")), kEmpty);
  EXPECT_EQ(server_->counts().found, 0U);
}

TEST_F(RendezvousServerTest, WithoutRoomToWaitItIsToldToAskAgain) {
  Start({.waiting = 1, .hold = milliseconds(3'600'000)});
  Client client;
  Send(client, Request("GET", "/global/3"));
  ASSERT_TRUE(AwaitState([this] { return server_->counts().held == 1; }));
  EXPECT_EQ(Answer(Request("GET", "/global/3")), kMissing);
  EXPECT_EQ(client.received, "");
}

TEST_F(RendezvousServerTest, Garbage) {
  Start();
  for (const std::string& bytes :
       {std::string("\x16\x03\x01\x02\x00\x01\x00", 7), std::string("hello\n"),
        Request("GET", "/scope"), Request("GET", "/scope/key/more"), Request("PUT", "/", "value"),
        Request("GET", "/scope/key", "a body"), std::string("GET /a/b\r\n\r\n")}) {
    EXPECT_THAT(Answer(bytes), StartsWith("HTTP/1.1 400 Bad Request\r\nContent-Length: ")) << bytes;
  }
  EXPECT_THAT(Answer(Request("GET", "/scope")), HasSubstr("\r\n\r\nThe path of a request is"));
  EXPECT_THAT(Answer(Request("POST", "/scope/key")), StartsWith("HTTP/1.1 405 "));
  EXPECT_EQ(server_->counts().refused, 9U);
  EXPECT_EQ(store_.content().keys(), 0U);
  EXPECT_TRUE(AwaitConnections(0));
}

TEST_F(RendezvousServerTest, WhatFollowsARequestDoesNotHarmTheAnswer) {
  Start();
  EXPECT_EQ(Answer(Request("PUT", "/a/b", "value") + std::string(100'000, 'x')), kEmpty);
  EXPECT_EQ(Answer(Request("GET", "/a/b") + Request("GET", "/a/c")), Found("value"));
  EXPECT_EQ(server_->counts().found, 1U);
}

TEST_F(RendezvousServerTest, AHeadThatIsTooLong) {
  Start();
  const std::string key(kMostHeadBytes, 'k');
  EXPECT_THAT(Answer(Request("GET", "/scope/" + key)), StartsWith("HTTP/1.1 431 "));
}

TEST_F(RendezvousServerTest, ABodyThatIsTooLong) {
  Start({.body_bytes = 1000});
  EXPECT_EQ(Answer(Request("PUT", "/scope/key", std::string(1000, 'x'))), kEmpty);
  EXPECT_THAT(Answer("PUT /scope/key HTTP/1.1\r\nContent-Length: 1001\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(Answer("PUT /a/b HTTP/1.1\r\nContent-Length: 18446744073709551614\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
}

// Horovod's client sends all of a request before it looks for the answer.
TEST_F(RendezvousServerTest, WhoSendsAllThatIsTooLongHearsTheAnswer) {
  Start({.body_bytes = 1000});
  Client client;
  Connect(client);
  std::optional<absl::Status> sent;
  client.socket->Write(Request("PUT", "/scope/key", std::string(32 << 20, 'x')),
                       [&](const absl::Status& status) {
                         sent = status;
                         driver_.Changed();
                       });
  ASSERT_TRUE(driver_.Await([&] { return sent && client.over; }));
  EXPECT_TRUE(sent->ok()) << *sent;
  EXPECT_THAT(client.received, HasSubstr("A value has at most 1000 bytes."));
}

TEST_F(RendezvousServerTest, ASlowBody) {
  Start({.request = milliseconds(20)});
  EXPECT_THAT(Answer("PUT /scope/key HTTP/1.1\r\nContent-Length: 10\r\n\r\nvalue"),
              StartsWith("HTTP/1.1 408 Request Timeout\r\n"));
  EXPECT_EQ(store_.Get("scope", "key"), nullptr);
}

TEST_F(RendezvousServerTest, ASlowHead) {
  Start({.request = milliseconds(20)});
  EXPECT_THAT(Answer("GET /scope/ke"), StartsWith("HTTP/1.1 408 "));
}

TEST_F(RendezvousServerTest, AStrangerWhoSaysNothing) {
  Start({.request = milliseconds(20), .farewell = milliseconds(20)});
  Client client;
  Connect(client);
  ASSERT_TRUE(driver_.Await([&] { return client.over; }));
  EXPECT_THAT(client.received, StartsWith("HTTP/1.1 408 "));
  // Nor does it close.
  EXPECT_TRUE(AwaitConnections(0));
}

TEST_F(RendezvousServerTest, TooMuchOnItsWay) {
  Start({.receiving_bytes = 1000});
  auto first = std::make_unique<Client>();
  Send(*first, "PUT /scope/one HTTP/1.1\r\nContent-Length: 600\r\n\r\n");
  ASSERT_TRUE(AwaitConnections(1));
  const std::string second = Request("PUT", "/scope/two", std::string(600, 'x'));
  // The first one's head may still be on its way.
  ASSERT_TRUE(AwaitState([&] { return Answer(second).starts_with("HTTP/1.1 503 "); }));
  first.reset();
  ASSERT_TRUE(AwaitConnections(0));
  EXPECT_EQ(Answer(second), kEmpty);
}

TEST_F(RendezvousServerTest, TooManyConnections) {
  Start({.connections = 2});
  auto one = std::make_unique<Client>();
  auto other = std::make_unique<Client>();
  Connect(*one);
  Connect(*other);
  ASSERT_TRUE(AwaitConnections(2));
  EXPECT_THAT(Answer(Request("PUT", "/scope/key", "value")),
              StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  Send(*one, Request("PUT", "/scope/key", "value"));
  ASSERT_TRUE(driver_.Await([&] { return one->over; }));
  EXPECT_EQ(one->received, kEmpty);
  EXPECT_TRUE(AwaitConnections(1));
  EXPECT_EQ(Answer(Request("GET", "/scope/key")), Found("value"));
}

// A stranger cannot keep the job's own programs out.
TEST_F(RendezvousServerTest, WhoIsRefusedIsClosedAtOnceAndTakesNoPlace) {
  peers_ = [](const PeerEnds&) { return absl::PermissionDeniedError("a stranger"); };
  Start({.connections = 1});
  std::vector<Client> strangers(10);
  for (Client& stranger : strangers) Send(stranger, Request("PUT", "/scope/key", "his"));
  for (Client& stranger : strangers) {
    ASSERT_TRUE(driver_.Await([&] { return stranger.over; }));
    EXPECT_EQ(stranger.received, "");
  }
  EXPECT_EQ(store_.content().keys(), 0U);
  EXPECT_EQ(server_->counts().refused, 0U) << "not even an answer";
  peers_ = AnyPeer();
  EXPECT_EQ(Answer(Request("PUT", "/scope/key", "ours")), kEmpty);
}

// By it a stranger could sign what a worker of an elastic job unpickles.
TEST_F(RendezvousServerTest, WhereWorkersAreToldSomethingNobodyReads) {
  Start();
  std::string told;
  const auto watch = store_.Watch([&](const core::StoreOperation& operation) {
    if (const auto* put = std::get_if<core::PutValue>(&operation)) told = put->key + *put->value;
  });
  EXPECT_EQ(Answer(Request("PUT", "/worker_addresses/a:0", " secret")), kEmpty);
  EXPECT_EQ(told, "a:0 secret") << "the driver's side";
  EXPECT_EQ(Answer(Request("GET", "/worker_addresses/a:0")), kMissing);
  EXPECT_EQ(Answer(Request("DELETE", "/worker_addresses/a:0")), kEmpty);
  EXPECT_EQ(store_.Get("worker_addresses", "a:0"), nullptr);
}

TEST_F(RendezvousServerTest, WhoWaitsWithoutEndMakesRoom) {
  Start({.connections = 2});
  Client oldest, other;
  Send(oldest, Request("GET", "/rank_and_size/x:0"));
  ASSERT_TRUE(AwaitState([this] { return server_->counts().held == 1; }));
  Send(other, Request("GET", "/rank_and_size/y:0"));
  ASSERT_TRUE(AwaitState([this] { return server_->counts().held == 2; }));
  EXPECT_EQ(Answer(Request("PUT", "/scope/key", "value")), kEmpty);
  ASSERT_TRUE(driver_.Await([&] { return oldest.over; }));
  EXPECT_EQ(oldest.received, "");
  EXPECT_FALSE(other.over);
}

TEST_F(RendezvousServerTest, AStoreThatIsFull) {
  Start();
  const std::string value(6 << 20, 'x');
  EXPECT_EQ(Answer(Request("PUT", "/scope/one", value)), kEmpty);
  const std::string answer = Answer(Request("PUT", "/scope/two", value));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 507 Insufficient Storage\r\n"));
  EXPECT_THAT(answer, HasSubstr("no room for 6291456 bytes more"));
}

TEST_F(RendezvousServerTest, AStoreThatDoesNotAnswer) {
  StubbornStore store;
  StartWith(store, {.change = milliseconds(20)});
  EXPECT_THAT(Answer(Request("PUT", "/scope/key", "value")), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(Answer(Request("DELETE", "/scope/key")), StartsWith("HTTP/1.1 503 "));
  ASSERT_EQ(store.pending.size(), 2U);
  for (const auto& on_done : store.pending) on_done(absl::OkStatus());  // for nobody
  EXPECT_EQ(server_->counts().puts, 0U);
}

TEST_F(RendezvousServerTest, AStoreThatAnswersLater) {
  StubbornStore store;
  StartWith(store, {});
  Client one, other;
  Send(one, Request("PUT", "/scope/key", "value"));
  ASSERT_TRUE(AwaitState([&] { return store.pending.size() == 1; }));
  Send(other, Request("DELETE", "/scope/key"));
  ASSERT_TRUE(AwaitState([&] { return store.pending.size() == 2; }));
  EXPECT_EQ(one.received, "");
  store.pending[0](absl::OkStatus());
  store.pending[1](absl::UnavailableError("the driver is gone"));
  ASSERT_TRUE(driver_.Await([&] { return one.over && other.over; }));
  EXPECT_EQ(one.received, kEmpty);
  EXPECT_THAT(other.received, HasSubstr("\r\n\r\nthe driver is gone\n"));
}

TEST_F(RendezvousServerTest, EndsWithOpenConnections) {
  StubbornStore store;
  StartWith(store, {});
  Client silent, changing, waiting;
  Connect(silent);
  Send(changing, Request("PUT", "/scope/key", "value"));
  Send(waiting, Request("GET", "/scope/0"));
  ASSERT_TRUE(AwaitState([&] { return store.pending.size() == 1 && server_->counts().held == 1; }));
  server_.reset();
  ASSERT_TRUE(driver_.Await([&] { return silent.over && changing.over && waiting.over; }));
  store.pending[0](absl::OkStatus());
  EXPECT_EQ(changing.received, "");
}

TEST_F(RendezvousServerTest, ListensForThisMachineOnly) {
  Start();
  absl::Status status;
  bool done = false;
  // Another address of the same machine.
  const auto attempt =
      TcpSocket::Connect(driver_.loop(), "127.0.0.2", server_->port(), [&](const auto& socket) {
        status = socket.status();
        done = true;
        driver_.Changed();
      });
  ASSERT_TRUE(driver_.Await([&] { return done; }));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
}

TEST_F(RendezvousServerTest, APortThatIsTaken) {
  Start();
  const auto second =
      RendezvousServer::Start(driver_.loop(), store_, server_->port(), AnyPeer(), {});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("port " + std::to_string(server_->port())));
}

/// A connection to `port` that the kernel has made without having to try again.
os::UniqueFd ConnectAtOnce(int port) {
  os::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
  pollfd wait{.fd = fd.get(), .events = POLLOUT, .revents = 0};
  EXPECT_EQ(::poll(&wait, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())), 1);
  tcp_info info{};
  socklen_t size = sizeof(info);
  EXPECT_EQ(::getsockopt(fd.get(), IPPROTO_TCP, TCP_INFO, &info, &size), 0);
  EXPECT_EQ(info.tcpi_state, TCP_ESTABLISHED);
  EXPECT_EQ(info.tcpi_total_retrans, 0U);
  return fd;
}

// Horovod's own server has room for 5, and who finds none tries again after 1, 3 and 7 seconds.
TEST_F(RendezvousServerTest, AllMayComeAtOnce) {
  Start();
  std::vector<os::UniqueFd> clients;
  // The loop does not run: the kernel alone takes them in.
  for (int i = 0; i < 300 && !HasFailure(); ++i) clients.push_back(ConnectAtOnce(server_->port()));
  EXPECT_TRUE(AwaitConnections(clients.size()));
}

}  // namespace
}  // namespace tony::rendezvous
