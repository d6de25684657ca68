// The kernel's own answers, and those of its tables where it gives none.
#include "os/network/sock_diag.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "os/network/peer_user.h"
#include "os/network/port_listeners.h"
#include "tests/os/network/network_support.h"
#include "tests/os/process_support.h"

namespace tony::os {
namespace {

unsigned long InodeOf(const UniqueFd& fd) {
  struct stat info {};
  EXPECT_EQ(::fstat(fd.get(), &info), 0);
  return info.st_ino;
}

/// From now on this process gets no netlink socket, as in a container that forbids them.
bool ForbidNetlink() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter = {.len = std::size(program), .filter = program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(SockDiagTest, KnowsEachSocketThatListens) {
  // More than the kernel tells in one message.
  std::vector<UniqueFd> servers;
  for (int i = 0; i < 300; ++i) {
    servers.push_back(ListenSocket({.ipv6 = i % 2 == 1}, 0));
    if (!servers.back().valid()) GTEST_SKIP() << "needs IPv6 and 300 descriptors";
  }
  const auto found = AskForListeningSockets();
  if (!found) GTEST_SKIP() << "this kernel does not answer";
  for (const UniqueFd& server : servers) {
    const unsigned long inode = InodeOf(server);
    const auto one = std::find_if(found->begin(), found->end(), [&](const ListeningSocket& socket) {
      return socket.inode == inode;
    });
    ASSERT_NE(one, found->end());
    EXPECT_EQ(one->port, PortOf(server));
    EXPECT_EQ(one->uid, ::getuid());
  }
  const unsigned long gone = InodeOf(servers.back());
  servers.pop_back();
  const auto after = AskForListeningSockets();
  ASSERT_TRUE(after);
  EXPECT_TRUE(std::none_of(after->begin(), after->end(),
                           [&](const ListeningSocket& socket) { return socket.inode == gone; }));
}

/// Sends `bytes` through the connection; both ends are the test's.
void Transfer(const UniqueFd& from, const UniqueFd& to, size_t bytes) {
  const std::string block(bytes, 'x');
  ASSERT_EQ(::send(from.get(), block.data(), bytes, 0), static_cast<ssize_t>(bytes));
  std::string received(bytes, 0);
  ASSERT_EQ(::recv(to.get(), received.data(), bytes, MSG_WAITALL), static_cast<ssize_t>(bytes));
}

TEST(SockDiagTest, KnowsWhatConnectionsHaveCarried) {
  for (const bool ipv6 : {false, true}) {
    const UniqueFd server = ListenSocket({.ipv6 = ipv6, .loopback_only = !ipv6}, 0);
    if (!server.valid()) GTEST_SKIP() << "needs IPv6";
    const UniqueFd client = ConnectTo(PortOf(server));
    const UniqueFd accepted(::accept(server.get(), nullptr, nullptr));
    ASSERT_TRUE(accepted.valid());
    Transfer(client, accepted, 100'000);
    Transfer(accepted, client, 7);
    const auto ends = AskForTraffic({InodeOf(accepted)});
    if (!ends) GTEST_SKIP() << "this kernel does not answer";
    ASSERT_EQ(ends->size(), 1u);
    EXPECT_EQ(ends->at(0).sent_bytes, 7);
    EXPECT_EQ(ends->at(0).received_bytes, 100'000);
    // A server that listens carries nothing itself.
    const auto other = AskForTraffic(
        {std::min(InodeOf(client), InodeOf(server)), std::max(InodeOf(client), InodeOf(server))});
    ASSERT_TRUE(other);
    ASSERT_EQ(other->size(), 1u);
    EXPECT_EQ(other->at(0).sent_bytes, 100'000);
    EXPECT_EQ(other->at(0).received_bytes, 7);
    EXPECT_NE(other->at(0).cookie, ends->at(0).cookie);
    EXPECT_EQ(AskForTraffic({}).value().size(), 0u);
  }
}

TEST(SockDiagTest, KnowsTheTrafficOfMoreConnectionsThanOneMessageHolds) {
  const UniqueFd server = ListenSocket({}, 0);
  std::vector<UniqueFd> clients, accepted;
  std::vector<unsigned long> inodes;  // sorted below
  for (int i = 0; i < 200; ++i) {
    clients.push_back(ConnectTo(PortOf(server)));
    accepted.emplace_back(::accept(server.get(), nullptr, nullptr));
    ASSERT_TRUE(accepted.back().valid());
    Transfer(clients.back(), accepted.back(), 10);
    inodes.push_back(InodeOf(clients.back()));
  }
  std::sort(inodes.begin(), inodes.end());
  const auto traffic = AskForTraffic(inodes);
  if (!traffic) GTEST_SKIP() << "this kernel does not answer";
  EXPECT_EQ(traffic->size(), 200u);
  for (const SocketTraffic& socket : *traffic) EXPECT_EQ(socket.sent_bytes, 10);
  clients.erase(clients.begin() + 1, clients.end());
  EXPECT_EQ(AskForTraffic(inodes).value().size(), 1u);
}

TEST(SockDiagTest, WithoutAnswersTheTablesAreRead) {
  const UniqueFd server = ListenSocket({}, 0);
  const UniqueFd other = ListenSocket({.ipv6 = true}, 0);
  const uint16_t port = PortOf(server);
  const UniqueFd client = ConnectTo(port);
  ASSERT_TRUE(client.valid());
  const uint16_t peer = PortOf(client);
  LinePipe said;
  const pid_t child = ForkChild([&] {
    if (!ForbidNetlink()) return;
    const bool answered = AskForListeningSockets() || AskForLoopbackUser(peer, port).ok();
    const auto listeners = FindListeners({port, other.valid() ? PortOf(other) : port});
    const auto user = LoopbackPeerUser(peer, port);
    ::dprintf(said.write_fd(), "%d %zu %d\n", answered, listeners.ok() ? listeners->size() : 0,
              user.ok() && *user == ::geteuid());
  });
  // This process has both sockets open, and its child.
  EXPECT_EQ(said.ReadLine(), other.valid() ? "0 4 1" : "0 2 1");
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace tony::os
