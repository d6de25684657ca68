// A port that several processes hold one after another.
#include "os/network/bound_socket.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

namespace tony::os {
namespace {

sockaddr_in AddressOf(const UniqueFd& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return address;
}

/// The error of an attempt to listen at `address`, with the options of a stranger who wants it.
int ListenError(const sockaddr_in& address) {
  const UniqueFd stranger(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(stranger.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(stranger.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  if (::bind(stranger.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return errno;
  }
  return ::listen(stranger.get(), 1) == 0 ? 0 : errno;
}

TEST(BoundSocket, NobodyElseGetsItsPort) {
  const absl::StatusOr<UniqueFd> socket = BindLoopbackSocket();
  ASSERT_TRUE(socket.ok()) << socket.status();
  const sockaddr_in address = AddressOf(*socket);
  EXPECT_NE(address.sin_port, 0);
  EXPECT_EQ(ListenError(address), EADDRINUSE);
  EXPECT_EQ(::listen(socket->get(), 1), 0);
  EXPECT_EQ(ListenError(address), EADDRINUSE);
}

TEST(BoundSocket, ConnectionsWaitForWhoeverAcceptsThemNext) {
  const absl::StatusOr<UniqueFd> keeper = BindLoopbackSocket();
  ASSERT_TRUE(keeper.ok()) << keeper.status();
  {
    const UniqueFd first(::dup(keeper->get()));
    ASSERT_EQ(::listen(first.get(), 1), 0);
  }
  const sockaddr_in address = AddressOf(*keeper);
  const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            0);
  const UniqueFd second(::dup(keeper->get()));
  const UniqueFd accepted(::accept4(second.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_TRUE(accepted.valid());
}

}  // namespace
}  // namespace tony::os
