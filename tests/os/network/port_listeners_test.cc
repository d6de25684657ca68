// Finding who listens.
#include "os/network/port_listeners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "os/network/port_reservation.h"
#include "tests/os/network/network_support.h"
#include "tests/os/process_support.h"

namespace tony::os {
namespace {

TEST(PortListenersTest, AHeldPortHasNoListenerUntilAServerComes) {
  const auto reservation = PortReservation::Reserve();
  ASSERT_TRUE(reservation.ok());
  const auto before = FindListeners({reservation->port()});
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_TRUE(before->empty());

  const UniqueFd server = ListenSocket({.reuse_address = true}, reservation->port());
  ASSERT_TRUE(server.valid());
  const auto after = FindListeners({reservation->port()});
  ASSERT_TRUE(after.ok());
  ASSERT_EQ(after->size(), 1u);
  EXPECT_EQ((*after)[0].port, reservation->port());
  EXPECT_EQ((*after)[0].pid, ::getpid());
  EXPECT_EQ((*after)[0].command, "os_test");
  EXPECT_EQ((*after)[0].uid, ::getuid());
}

TEST(PortListenersTest, TellsWhetherOneOfSomeProcessesListens) {
  const auto reservation = PortReservation::Reserve();
  ASSERT_TRUE(reservation.ok());
  const uint16_t port = reservation->port();
  EXPECT_FALSE(AnyListens(port, {::getpid()}).value_or(true));
  const UniqueFd server = ListenSocket({.reuse_address = true}, port);
  ASSERT_TRUE(server.valid());
  EXPECT_TRUE(AnyListens(port, {1, ::getpid()}).value_or(false));
  EXPECT_FALSE(AnyListens(port, {1}).value_or(true));
  EXPECT_FALSE(AnyListens(port, {}).value_or(true));
}

// On ports that nobody else uses, since other programs' listeners on other addresses count too.
class Servers {
 public:
  explicit Servers(const std::vector<ServerOptions>& all_options) {
    for (ServerOptions options : all_options) {
      auto reservation = PortReservation::Reserve();
      if (!reservation.ok()) continue;
      options.reuse_address = true;
      ports.push_back(reservation->port());
      sockets.push_back(ListenSocket(options, reservation->port()));
      reservations_.push_back(*std::move(reservation));
    }
  }

  std::vector<uint16_t> ports;
  std::vector<UniqueFd> sockets;

 private:
  std::vector<PortReservation> reservations_;
};

TEST(PortListenersTest, FindsSeveralPortsAndBothFamilies) {
  const Servers servers({{}, {.ipv6 = true}, {}});
  if (!servers.sockets.at(1).valid()) GTEST_SKIP() << "needs IPv6";
  const auto found = FindListeners({servers.ports.at(0), servers.ports.at(1)});
  ASSERT_TRUE(found.ok());
  std::vector<uint16_t> ports;
  for (const PortListener& listener : *found) ports.push_back(listener.port);
  EXPECT_THAT(ports, testing::UnorderedElementsAre(servers.ports[0], servers.ports[1]));
}

TEST(PortListenersTest, NamesEveryProcessThatSharesTheSocket) {
  const Servers servers({ServerOptions{}});
  const pid_t child = ForkChild([] { ::pause(); });
  const auto found = FindListeners({servers.ports.at(0)});
  ASSERT_TRUE(found.ok());
  std::vector<pid_t> processes;
  for (const PortListener& listener : *found) processes.push_back(listener.pid);
  EXPECT_THAT(processes, testing::UnorderedElementsAre(::getpid(), child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(PortListenersTest, TheUsersOwnListenerIsToldFromAStrangers) {
  const Servers servers({ServerOptions{}});
  const uint16_t port = servers.ports.at(0);
  EXPECT_TRUE(UserListens(port, ::getuid()).value());
  EXPECT_FALSE(UserListens(port, ::getuid() + 1).value());
  const auto reservation = PortReservation::Reserve();
  ASSERT_TRUE(reservation.ok());
  EXPECT_FALSE(UserListens(reservation->port(), ::getuid()).value()) << "it is held only";
}

TEST(PortListenersTest, AnotherUsersListenerHasItsUserButNoProcess) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can become another user";
  const Servers servers({ServerOptions{}});
  const uint16_t port = servers.ports.at(0);
  LinePipe answer;
  const pid_t stranger = ForkChild([&] {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) return;
    ::close(servers.sockets[0].get());
    const auto found = FindListeners({port});
    if (!found.ok() || found->size() != 1) return;
    ::dprintf(answer.write_fd(), "%u %d '%s' %u\n", (*found)[0].port, (*found)[0].pid,
              (*found)[0].command.c_str(), (*found)[0].uid);
  });
  EXPECT_EQ(answer.ReadLine(), std::to_string(port) + " 0 '' 0");
  ::waitpid(stranger, nullptr, 0);
}

}  // namespace
}  // namespace tony::os
