// Tests which peers are accepted, and the effects of a flood or a shortage of descriptors.
#include "rpc/services/connection_acceptor.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "os/files/unique_fd.h"
#include "tests/common/eventually.h"
#include "tests/rpc/inbox.h"

namespace tony::rpc {
namespace {

using ::testing::HasSubstr;
using Limits = ConnectionAcceptor::Limits;

constexpr std::chrono::hours kNever{1};

/// A client's end of a connection to 127.0.0.1.
os::UniqueFd ConnectTo(int port) {
  os::UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int failed = ::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  return failed == 0 ? std::move(client) : os::UniqueFd();
}

int PortOf(const os::UniqueFd& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

/// gRPC's name for the client.
std::string PeerOf(const os::UniqueFd& client) {
  return absl::StrCat("ipv4:127.0.0.1:", PortOf(client));
}

/// Whether the other side ends the connection in time.
bool IsEnded(const os::UniqueFd& client) {
  const timeval patience{.tv_sec = 20};
  ::setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  char byte;
  const ssize_t count = ::recv(client.get(), &byte, 1, 0);
  return count == 0 || (count < 0 && errno == ECONNRESET);
}

class ConnectionAcceptorTest : public ::testing::Test {
 protected:
  void Start(Limits limits, Peers peers = Peers::kOwnUser) {
    auto acceptor = ConnectionAcceptor::Listen("127.0.0.1", peers, limits);
    ASSERT_TRUE(acceptor.ok()) << acceptor.status();
    acceptor_ = *std::move(acceptor);
    const absl::Status started =
        acceptor_->Start([this](int, int fd) { taken_.Push(std::make_shared<os::UniqueFd>(fd)); });
    ASSERT_TRUE(started.ok()) << started;
  }
  os::UniqueFd Connect() { return ConnectTo(acceptor_->port()); }

  Inbox<std::shared_ptr<os::UniqueFd>> taken_;
  std::unique_ptr<ConnectionAcceptor> acceptor_;
};

TEST_F(ConnectionAcceptorTest, HandsOverConnectionsOfItsOwnUser) {
  Start({});
  const os::UniqueFd client = Connect();
  const auto server = taken_.Next();
  ASSERT_TRUE(server.has_value());
  ASSERT_EQ(::send(client.get(), "x", 1, 0), 1);
  char byte = 0;
  pollfd readable{.fd = (*server)->get(), .events = POLLIN};
  ASSERT_EQ(::poll(&readable, 1, 20'000), 1);
  EXPECT_EQ(::recv((*server)->get(), &byte, 1, 0), 1);
  EXPECT_EQ(byte, 'x');
  EXPECT_EQ(acceptor_->counts().accepted, 1u);
  EXPECT_EQ(acceptor_->number(), "127.0.0.1");
}

TEST_F(ConnectionAcceptorTest, ClosesAnotherUsersConnectionsAndTakesItsOwnMeanwhile) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can become another user";
  // Root's own listener would take root's connections and nobody else's, too.
  Start({});
  constexpr int kStrangers = 50;
  int ended[2];
  ASSERT_EQ(::pipe(ended), 0);
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::setgid(54322) != 0 || ::setuid(54322) != 0) ::_exit(1);
    char count = 0;
    for (int i = 0; i < kStrangers; ++i) count = static_cast<char>(count + IsEnded(Connect()));
    (void)!::write(ended[1], &count, 1);
    ::_exit(0);
  }
  char count = 0;
  ASSERT_EQ(::read(ended[0], &count, 1), 1);
  EXPECT_EQ(count, kStrangers);
  ::waitpid(stranger, nullptr, 0);
  EXPECT_EQ(acceptor_->counts().refused, static_cast<uint64_t>(kStrangers));
  EXPECT_EQ(acceptor_->counts().accepted, 0u);
  const os::UniqueFd own = Connect();
  EXPECT_TRUE(taken_.Next().has_value());
  ::close(ended[0]);
  ::close(ended[1]);
}

TEST_F(ConnectionAcceptorTest, AShortageOfDescriptorsIsAPause) {
  constexpr size_t kClients = 40;
  Start({.pause = std::chrono::milliseconds(5)});
  // The clients' ends are in another process, whose limit is its own.
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  const pid_t clients = ::fork();
  if (clients == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char byte;
    std::vector<os::UniqueFd> ends;
    if (::read(go[0], &byte, 1) != 1) ::_exit(1);
    for (size_t i = 0; i < kClients; ++i) ends.push_back(Connect());
    ::pause();
  }
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const os::UniqueFd next_free(::dup(go[0]));
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(next_free.get()) + 6;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  ASSERT_EQ(::write(go[1], "x", 1), 1);
  std::vector<std::shared_ptr<os::UniqueFd>> taken;
  EXPECT_TRUE(Eventually([&] {
    if (auto one = taken_.TryNext()) taken.push_back(*std::move(one));
    return acceptor_->counts().pauses > 0;
  }));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  while (taken.size() < kClients) {
    auto one = taken_.Next();
    ASSERT_TRUE(one.has_value()) << "after the shortage nobody is taken in: " << taken.size();
    taken.push_back(*std::move(one));
  }
  ::kill(clients, SIGKILL);
  ::waitpid(clients, nullptr, 0);
  ::close(go[0]);
  ::close(go[1]);
}

TEST_F(ConnectionAcceptorTest, TheOldestWithoutACallMakesRoom) {
  Start({.handshakes = 3, .grace = std::chrono::milliseconds(0)});
  std::vector<os::UniqueFd> clients;
  std::vector<std::shared_ptr<os::UniqueFd>> held;  // as gRPC holds them
  for (int i = 0; i < 5; ++i) {
    clients.push_back(Connect());
    auto server = taken_.Next();
    ASSERT_TRUE(server.has_value());
    held.push_back(*std::move(server));
  }
  EXPECT_TRUE(IsEnded(clients[0]));
  EXPECT_TRUE(IsEnded(clients[1]));
  EXPECT_GE(acceptor_->counts().evicted, 2u);
  // The youngest is never one that has to go.
  char byte;
  EXPECT_EQ(::recv(clients[4].get(), &byte, 1, MSG_DONTWAIT), -1);
}

TEST_F(ConnectionAcceptorTest, OneThatHasMadeACallIsNotCounted) {
  Start({.handshakes = 1, .grace = kNever});
  const os::UniqueFd first = Connect();
  const auto held = taken_.Next();
  ASSERT_TRUE(held.has_value());
  const os::UniqueFd second = Connect();
  acceptor_->OnCall("ipv4:127.0.0.1:1");  // somebody else
  EXPECT_EQ(acceptor_->counts().accepted, 1u);
  acceptor_->OnCall(PeerOf(first));
  EXPECT_TRUE(taken_.Next().has_value());
}

TEST_F(ConnectionAcceptorTest, OneThatHasEndedMakesRoom) {
  Start({.handshakes = 1, .grace = kNever});
  const os::UniqueFd first = Connect();
  auto held = taken_.Next();
  ASSERT_TRUE(held.has_value());
  const os::UniqueFd second = Connect();
  (*held)->Reset();
  EXPECT_TRUE(taken_.Next().has_value());
}

TEST_F(ConnectionAcceptorTest, WhatIsClosedMeanwhileIsNotMistakenForAnother) {
  Start({.handshakes = 2, .grace = std::chrono::milliseconds(0)});
  const os::UniqueFd first = Connect();
  auto held = taken_.Next();
  ASSERT_TRUE(held.has_value());
  // gRPC has closed it, and the number is another socket's.
  const int number = (*held)->Release();
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  ASSERT_EQ(::dup2(pair[0], number), number);
  std::vector<os::UniqueFd> clients;
  std::vector<std::shared_ptr<os::UniqueFd>> others;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(Connect());
    auto server = taken_.Next();
    ASSERT_TRUE(server.has_value());
    others.push_back(*std::move(server));
  }
  EXPECT_EQ(::send(pair[1], "x", 1, 0), 1);
  char byte = 0;
  EXPECT_EQ(::recv(number, &byte, 1, MSG_DONTWAIT), 1) << "a socket that is not its own was shut";
  for (const int fd : {number, pair[0], pair[1]}) ::close(fd);
}

TEST_F(ConnectionAcceptorTest, AfterStopNobodyCanConnect) {
  Start({});
  acceptor_->Stop();
  EXPECT_FALSE(Connect().valid());
}

TEST(ConnectionAcceptorListenTest, SaysWhereItCannotListen) {
  // An address of the documentation's network, which no machine has.
  const auto acceptor = ConnectionAcceptor::Listen("192.0.2.1", Peers::kAnyHost, {});
  EXPECT_EQ(acceptor.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(acceptor.status().message()), HasSubstr("192.0.2.1"));
}

TEST(ConnectionAcceptorListenTest, TakesIPv6AndNames) {
  for (const char* host : {"::1", "localhost"}) {
    auto acceptor = ConnectionAcceptor::Listen(host, Peers::kAnyHost, {});
    if (!acceptor.ok()) continue;  // a machine without IPv6, or without names
    Inbox<int> taken;
    ASSERT_TRUE((*acceptor)->Start([&](int, int fd) { taken.Push(fd); }).ok());
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(static_cast<uint16_t>((*acceptor)->port()));
    address.sin6_addr = in6addr_loopback;
    const os::UniqueFd six(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const bool by_six = (*acceptor)->number() == "::1";
    const os::UniqueFd four = by_six ? os::UniqueFd() : ConnectTo((*acceptor)->port());
    if (by_six) {
      EXPECT_EQ(::connect(six.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    const auto fd = taken.Next();
    ASSERT_TRUE(fd.has_value()) << host;
    ::close(*fd);
  }
}

}  // namespace
}  // namespace tony::rpc
