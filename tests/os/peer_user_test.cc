// Whose a connection on the loopback is.
#include "os/peer_user.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <utility>

#include "os/unique_fd.h"
#include "tests/os/process_support.h"

namespace tony::os {
namespace {

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

uint16_t PortOf(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.sin_port);
}

UniqueFd Listen() {
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = Loopback(0);
  EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  return listener;
}

UniqueFd ConnectTo(uint16_t port) {
  UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = Loopback(port);
  const int failed = ::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  return failed == 0 ? std::move(client) : UniqueFd();
}

TEST(LoopbackPeerUser, IsTheOneWhoConnected) {
  const UniqueFd listener = Listen();
  const uint16_t port = PortOf(listener.get());
  UniqueFd client = ConnectTo(port);
  ASSERT_TRUE(client.valid());
  const UniqueFd server(::accept(listener.get(), nullptr, nullptr));
  const uint16_t peer = PortOf(client.get());

  const absl::StatusOr<uid_t> user = LoopbackPeerUser(peer, port);
  ASSERT_TRUE(user.ok()) << user.status();
  EXPECT_EQ(*user, ::geteuid());
  EXPECT_TRUE(absl::IsNotFound(LoopbackPeerUser(port, port).status()));
  EXPECT_TRUE(CheckLoopbackPeer(peer, port).ok());
  client.Reset();
  EXPECT_TRUE(absl::IsNotFound(LoopbackPeerUser(peer, port).status()));
  EXPECT_TRUE(absl::IsNotFound(CheckLoopbackPeer(peer, port)));
}

TEST(CheckLoopbackPeer, SendsAnotherUsersProgramAway) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can become another user";
  constexpr uid_t kOwner = 54321;
  constexpr uid_t kStranger = 54322;
  const UniqueFd listener = Listen();
  const uint16_t port = PortOf(listener.get());
  LinePipe go;
  const pid_t stranger = ForkChild([&] {
    const bool changed = ::setgid(kStranger) == 0 && ::setuid(kStranger) == 0;
    const UniqueFd client = ConnectTo(port);
    ::dprintf(go.write_fd(), "%d %d\n", changed, PortOf(client.get()));
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
