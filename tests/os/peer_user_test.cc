// Whose a connection on the loopback is.
#include "os/peer_user.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/unique_fd.h"

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

TEST(LoopbackPeerUser, IsTheOneWhoConnected) {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = Loopback(0);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  const uint16_t port = PortOf(listener.get());
  UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  address = Loopback(port);
  ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const UniqueFd server(::accept(listener.get(), nullptr, nullptr));
  const uint16_t peer = PortOf(client.get());

  const absl::StatusOr<uid_t> user = LoopbackPeerUser(peer, port);
  ASSERT_TRUE(user.ok()) << user.status();
  EXPECT_EQ(*user, ::geteuid());
  EXPECT_TRUE(absl::IsNotFound(LoopbackPeerUser(port, port).status()));
  client.Reset();
  EXPECT_TRUE(absl::IsNotFound(LoopbackPeerUser(peer, port).status()));
}

}  // namespace
}  // namespace tony::os
