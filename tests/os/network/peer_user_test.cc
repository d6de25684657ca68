// Whose a connection on the loopback is.
#include "os/network/peer_user.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "os/files/unique_fd.h"
#include "tests/os/network/network_support.h"
#include "tests/os/process_support.h"

namespace tony::os {
namespace {

TEST(LoopbackPeerUser, IsTheOneWhoConnected) {
  const UniqueFd listener = ListenSocket({}, 0);
  const uint16_t port = PortOf(listener);
  UniqueFd client = ConnectTo(port);
  ASSERT_TRUE(client.valid());
  const UniqueFd server(::accept(listener.get(), nullptr, nullptr));
  const uint16_t peer = PortOf(client);

  const absl::StatusOr<uid_t> user = LoopbackPeerUser(peer, port);
  ASSERT_TRUE(user.ok()) << user.status();
  EXPECT_EQ(*user, ::geteuid());
  EXPECT_TRUE(absl::IsNotFound(LoopbackPeerUser(port, port).status()));
  EXPECT_TRUE(CheckLoopbackPeer(peer, port).ok());
  client.Reset();
  EXPECT_TRUE(absl::IsNotFound(LoopbackPeerUser(peer, port).status()));
  EXPECT_TRUE(absl::IsNotFound(CheckLoopbackPeer(peer, port)));
}

TEST(LoopbackPeerUser, KnowsSocketsOfVersionSix) {
  const UniqueFd listener = ListenSocket({}, 0);
  const uint16_t port = PortOf(listener);
  const UniqueFd client(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  ASSERT_EQ(::inet_pton(AF_INET6, "::ffff:127.0.0.1", &address.sin6_addr), 1);
  if (::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    GTEST_SKIP() << "this machine has no IPv6";
  }
  const UniqueFd server(::accept(listener.get(), nullptr, nullptr));
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(client.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const absl::StatusOr<uid_t> user = LoopbackPeerUser(ntohs(address.sin6_port), port);
  ASSERT_TRUE(user.ok()) << user.status();
  EXPECT_EQ(*user, ::geteuid());
}

// A port that a program is only connecting from is nobody's who is connected.
TEST(LoopbackPeerUser, IsNotOneWhoIsStillConnecting) {
  const UniqueFd listener = BindSocket({}, 0);
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(PortOf(listener));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // Its queue takes one or two; nobody answers those that come then.
  std::vector<UniqueFd> clients;
  bool connecting = false;
  while (!connecting && clients.size() < 16) {
    UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    (void)::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
    tcp_info info{};
    socklen_t size = sizeof info;
    ASSERT_EQ(::getsockopt(client.get(), IPPROTO_TCP, TCP_INFO, &info, &size), 0);
    connecting = info.tcpi_state == TCP_SYN_SENT;
    clients.push_back(std::move(client));
  }
  if (!connecting) GTEST_SKIP() << "this kernel's queue of connections does not fill";
  EXPECT_TRUE(absl::IsNotFound(CheckLoopbackPeer(PortOf(clients.back()), PortOf(listener))));
}

TEST(CheckLoopbackPeer, SendsAnotherUsersProgramAway) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can become another user";
  constexpr uid_t kOwner = 54321;
  constexpr uid_t kStranger = 54322;
  const UniqueFd listener = ListenSocket({}, 0);
  const uint16_t port = PortOf(listener);
  LinePipe go;
  const pid_t stranger = ForkChild([&] {
    const bool changed = ::setgid(kStranger) == 0 && ::setuid(kStranger) == 0;
    const UniqueFd client = ConnectTo(port);
    ::dprintf(go.write_fd(), "%d %d\n", changed, PortOf(client));
    ::pause();
  });
  const std::string said = go.ReadLine().value_or("");
  ASSERT_EQ(said.substr(0, 2), "1 ");
  const auto peer = static_cast<uint16_t>(std::stoi(said.substr(2)));
  const UniqueFd server(::accept(listener.get(), nullptr, nullptr));
  LinePipe answer;
  const pid_t owner = ForkChild([&] {
    if (::setgid(kOwner) != 0 || ::setuid(kOwner) != 0) return;
    const std::string text = CheckLoopbackPeer(peer, port).ToString();
    ::dprintf(answer.write_fd(), "%s\n", text.c_str());
  });
  EXPECT_EQ(answer.ReadLine(),
            "PERMISSION_DENIED: a program of another user of this machine (54322) was sent away");
  ::kill(stranger, SIGKILL);
  ::waitpid(stranger, nullptr, 0);
  ::waitpid(owner, nullptr, 0);
}

}  // namespace
}  // namespace tony::os
