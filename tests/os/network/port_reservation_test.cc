// Held ports against servers, strangers and programs that ask for any port.
#include "os/network/port_reservation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "os/files/proc_file.h"
#include "os/processes/subprocess.h"
#include "tests/os/network/network_support.h"
#include "tests/os/network/second_user.h"
#include "tests/os/process_support.h"

namespace tony::os {
namespace {

constexpr char kUsualRange[] = "32768 60999";
// Leaves one single port to choose, so that its state decides.
constexpr uint16_t kOnlyPort = 30000;
constexpr char kAllButOne[] = "1024-29999,30001-65535";

/// The name by which executors keep each other off a port, taken by somebody who is none.
UniqueFd TakeName(uint16_t port, int type, bool listens) {
  UniqueFd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "tony-port-" + std::to_string(port);
  name.copy(address.sun_path + 1, sizeof(address.sun_path) - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const bool taken = ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                     (!listens || ::listen(socket.get(), 0) == 0);
  return taken ? std::move(socket) : UniqueFd();
}

// "" when the choice of kOnlyPort is refused.
std::string ExpectRefused(const std::string& why) {
  const auto reservation = PortReservation::Reserve();
  if (reservation.ok()) return "was given a port although " + why;
  if (!absl::IsResourceExhausted(reservation.status())) return reservation.status().ToString();
  return "";
}

#define EXPECT_WELL_OR_SKIP(result)                       \
  do {                                                    \
    const std::string result_ = (result);                 \
    if (result_ == kNoNamespace) GTEST_SKIP() << result_; \
    EXPECT_EQ(result_, "");                               \
  } while (false)

TEST(PortReservationTest, ServersWithEitherOptionListenWhileItIsHeld) {
  for (const bool ipv6 : {false, true}) {
    for (const bool loopback_only : {false, true}) {
      for (const bool reuse_port : {false, true}) {
        const auto reservation = PortReservation::Reserve();
        ASSERT_TRUE(reservation.ok()) << reservation.status();
        const ServerOptions options{.ipv6 = ipv6,
                                    .reuse_address = !reuse_port,
                                    .reuse_port = reuse_port,
                                    .loopback_only = loopback_only};
        const UniqueFd server = ListenSocket(options, reservation->port());
        if (ipv6 && !server.valid() && errno != EADDRINUSE) continue;  // a machine without IPv6
        EXPECT_TRUE(server.valid()) << "IPv6 " << ipv6 << ", loopback " << loopback_only
                                    << ", SO_REUSEPORT " << reuse_port << ", errno " << errno;
        EXPECT_TRUE(ipv6 || ConnectTo(reservation->port()).valid());
        EXPECT_TRUE(reservation->holds_socket());
      }
    }
  }
}

TEST(PortReservationTest, AServerCanRestartAfterItServed) {
  const auto reservation = PortReservation::Reserve();
  ASSERT_TRUE(reservation.ok());
  const ServerOptions options{.reuse_address = true};
  for (int round = 0; round < 3; ++round) {
    UniqueFd server = ListenSocket(options, reservation->port());
    ASSERT_TRUE(server.valid()) << errno;
    UniqueFd client = ConnectTo(reservation->port());
    UniqueFd accepted(::accept(server.get(), nullptr, nullptr));
    ASSERT_TRUE(accepted.valid());
    accepted.Reset();  // first, so that the server's side is the one in TIME_WAIT
    client.Reset();
  }
}

TEST(PortReservationTest, APythonHttpServerListensWhileItIsHeld) {
  if (!HasPython()) GTEST_SKIP() << "needs python3";
  const auto reservation = PortReservation::Reserve();
  ASSERT_TRUE(reservation.ok());
  LinePipe output;
  const auto server =
      Subprocess::Start({.arguments = {"python3", "-c",
                                       "import http.server, sys\n"
                                       "s = http.server.HTTPServer(('', int(sys.argv[1])), "
                                       "http.server.SimpleHTTPRequestHandler)\n"
                                       "print('serves', flush=True)\n"
                                       "s.serve_forever()\n",
                                       std::to_string(reservation->port())},
                         .stdout_fd = output.write_fd(),
                         .stderr_fd = STDERR_FILENO});
  ASSERT_TRUE(server.ok()) << server.status();
  output.CloseWriteEnd();
  EXPECT_EQ(output.ReadLine(), "serves");
  EXPECT_TRUE(ConnectTo(reservation->port()).valid());
  server->SignalSession(SIGKILL);
  EXPECT_TRUE(WaitReadable(server->pidfd()));
}

TEST(PortReservationTest, AnotherUsersServerListensWhileItIsHeld) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can become another user";
  const auto reservation = PortReservation::Reserve();
  ASSERT_TRUE(reservation.ok());
  LinePipe answer;
  const pid_t child = ForkChild([&] {
    const bool changed = ::setgid(65534) == 0 && ::setuid(65534) == 0;
    const UniqueFd server = ListenSocket({.reuse_address = true}, reservation->port());
    ::dprintf(answer.write_fd(), "%d %d\n", changed, server.valid());
  });
  EXPECT_EQ(answer.ReadLine(), "1 1");
  ::waitpid(child, nullptr, 0);
}

TEST(PortReservationTest, AServerWithoutOptionsListensOnlyAfterTheRelease) {
  auto reservation = PortReservation::Reserve();
  ASSERT_TRUE(reservation.ok());
  EXPECT_FALSE(ListenSocket({}, reservation->port()).valid());
  EXPECT_EQ(errno, EADDRINUSE);
  reservation->ReleaseSocket();
  EXPECT_FALSE(reservation->holds_socket());
  EXPECT_TRUE(ListenSocket({}, reservation->port()).valid());
}

TEST(PortReservationTest, AThousandAreAllDifferent) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit before = limit;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 4096);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  {
    int first = 0, last = 0;
    ASSERT_EQ(std::sscanf(ReadProcFile("/proc/sys/net/ipv4/ip_local_port_range").c_str(), "%d %d",
                          &first, &last),
              2);
    std::vector<PortReservation> held;
    std::set<uint16_t> ports;
    for (int i = 0; i < 1000; ++i) {
      auto reservation = PortReservation::Reserve();
      ASSERT_TRUE(reservation.ok()) << i << ": " << reservation.status();
      EXPECT_GE(reservation->port(), 1024);
      const bool ephemeral = reservation->port() >= first && reservation->port() <= last;
      EXPECT_FALSE(ephemeral && last - first < 40'000) << reservation->port();
      EXPECT_TRUE(ports.insert(reservation->port()).second) << reservation->port();
      held.push_back(*std::move(reservation));
    }
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(PortReservationTest, RunningOutOfDescriptorsIsSaidAsSuch) {
  LinePipe answer;
  const pid_t child = ForkChild([&] {
    const rlimit limit{.rlim_cur = 64, .rlim_max = 64};
    ::setrlimit(RLIMIT_NOFILE, &limit);
    std::vector<PortReservation> held;
    while (true) {
      auto reservation = PortReservation::Reserve();
      if (!reservation.ok()) {
        ::dprintf(answer.write_fd(), "%s\n", reservation.status().ToString().c_str());
        return;
      }
      held.push_back(*std::move(reservation));
    }
  });
  const std::string status = answer.ReadLine().value_or("");
  EXPECT_THAT(status, testing::HasSubstr("RESOURCE_EXHAUSTED"));
  EXPECT_THAT(status, testing::HasSubstr("Too many open files"));
  ::waitpid(child, nullptr, 0);
}

TEST(PortReservationTest, WhoeverAsksForAnyPortIsNeverGivenAHeldOne) {
  // Every port is one that the kernel may give away here, and 300 of 4000 are held: chance would
  // hit them soon.
  EXPECT_WELL_OR_SKIP(InOwnNetwork("30000 33999", "1024-29999,34000-65535", []() -> std::string {
    std::vector<PortReservation> held;
    std::set<uint16_t> ports;
    for (int i = 0; i < 300; ++i) {
      auto reservation = PortReservation::Reserve();
      if (!reservation.ok()) return reservation.status().ToString();
      ports.insert(reservation->port());
      held.push_back(*std::move(reservation));
    }
    const UniqueFd server = ListenSocket({}, 0);
    for (int i = 0; i < 20'000; ++i) {
      const ServerOptions options{
          .ipv6 = i % 2 == 0, .reuse_address = i % 3 == 0, .reuse_port = i % 5 == 0};
      const UniqueFd any = BindSocket(options, 0);
      if (any.valid() && ports.contains(PortOf(any))) return "bind to 0 was given a held port";
    }
    for (int i = 0; i < 2'000; ++i) {
      const UniqueFd client = ConnectTo(PortOf(server));
      if (!client.valid()) return "cannot connect, errno " + std::to_string(errno);
      if (ports.contains(PortOf(client))) return "connect was given a held port";
      const UniqueFd accepted(::accept(server.get(), nullptr, nullptr));
      const linger at_once{.l_onoff = 1, .l_linger = 0};  // a reset leaves no TIME_WAIT
      ::setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    }
    return "";
  }));
}

TEST(PortReservationTest, ReservedPortsOfTheKernelAreLeftAlone) {
  EXPECT_WELL_OR_SKIP(InOwnNetwork(kUsualRange, kAllButOne, []() -> std::string {
    const auto reservation = PortReservation::Reserve();
    if (!reservation.ok()) return reservation.status().ToString();
    if (reservation->port() != kOnlyPort) return "took a reserved port";
    return ExpectRefused("the only one is held");
  }));
}

TEST(PortReservationTest, AReleasedPortIsStillRefusedToOtherExecutors) {
  EXPECT_WELL_OR_SKIP(InOwnNetwork(kUsualRange, kAllButOne, []() -> std::string {
    auto reservation = PortReservation::Reserve();
    if (!reservation.ok()) return reservation.status().ToString();
    reservation->ReleaseSocket();
    const std::string refused = ExpectRefused("the only one is set aside");
    if (!refused.empty()) return refused;
    { const PortReservation ended = *std::move(reservation); }
    return PortReservation::Reserve().ok() ? "" : "its end did not free the port";
  }));
}

TEST(PortReservationTest, AnotherUserWhoTakesTheNamesTakesNoPort) {
  if (!CanBecomeSecondUser()) GTEST_SKIP() << "only root can become another user";
  for (const auto& [type, listens] : std::vector<std::pair<int, bool>>{
           {SOCK_STREAM, true}, {SOCK_STREAM, false}, {SOCK_DGRAM, false}}) {
    EXPECT_WELL_OR_SKIP(InOwnNetwork(kUsualRange, kAllButOne, [&]() -> std::string {
      LinePipe taken;
      const pid_t stranger = ForkChild([&, type = type, listens = listens] {
        const bool changed = ::setgid(kSecondUser) == 0 && ::setuid(kSecondUser) == 0;
        const UniqueFd name = TakeName(kOnlyPort, type, listens);
        ::dprintf(taken.write_fd(), "%d %d\n", changed, name.valid());
        ::pause();
      });
      std::string result;
      if (taken.ReadLine() != "1 1") {
        result = "the stranger did not take the name";
      } else if (const auto reservation = PortReservation::Reserve(); !reservation.ok()) {
        result = reservation.status().ToString();
      } else {
        result = ExpectRefused("it is held, whoever has its name");
      }
      ::kill(stranger, SIGKILL);
      ::waitpid(stranger, nullptr, 0);
      return result;
    }));
  }
}

TEST(PortReservationTest, TwoUsersAreNeverGivenTheSamePort) {
  if (!CanBecomeSecondUser()) GTEST_SKIP() << "only root can become another user";
  EXPECT_WELL_OR_SKIP(InOwnNetwork(kUsualRange, kAllButOne, []() -> std::string {
    auto reservation = PortReservation::Reserve();
    if (!reservation.ok()) return reservation.status().ToString();
    // Held with both options by now, which the other's socket gets only once it is bound.
    const std::string other = AsSecondUser([] { return ExpectRefused("another user has it"); });
    if (!other.empty()) return other;
    // The port that is free for a moment is the only one left for the second user.
    reservation->ReleaseSocket();
    return AsSecondUser([] {
      const auto released = PortReservation::Reserve();
      return released.ok() ? std::string() : released.status().ToString();
    });
  }));
}

TEST(PortReservationTest, AnotherUsersReleasedPortIsLeftAloneWhileThereAreOthers) {
  if (!CanBecomeSecondUser()) GTEST_SKIP() << "only root can become another user";
  EXPECT_WELL_OR_SKIP(InOwnNetwork(kUsualRange, "1024-29999,30002-65535", []() -> std::string {
    auto reservation = PortReservation::Reserve();
    if (!reservation.ok()) return reservation.status().ToString();
    reservation->ReleaseSocket();
    return AsSecondUser([taken = reservation->port()]() -> std::string {
      for (int i = 0; i < 20; ++i) {  // each begins at a random one of the two
        const auto other = PortReservation::Reserve();
        if (!other.ok()) return other.status().ToString();
        if (other->port() == taken) return "was given the released port";
      }
      return "";
    });
  }));
}

TEST(PortReservationTest, ManyWhoAskForAReleasedPortAreAllRefused) {
  EXPECT_WELL_OR_SKIP(InOwnNetwork(kUsualRange, kAllButOne, []() -> std::string {
    auto reservation = PortReservation::Reserve();
    if (!reservation.ok()) return reservation.status().ToString();
    reservation->ReleaseSocket();
    for (int i = 0; i < 100; ++i) {
      const std::string refused = ExpectRefused("the only one is set aside");
      if (!refused.empty()) return refused;
    }
    return "";
  }));
}

TEST(PortReservationTest, APortInUseInAnyWayIsNotTaken) {
  for (const bool ipv6 : {false, true}) {
    for (const bool listening : {false, true}) {
      EXPECT_WELL_OR_SKIP(InOwnNetwork(kUsualRange, kAllButOne, [&]() -> std::string {
        // The most tolerant stranger there is.
        const ServerOptions options{.ipv6 = ipv6, .reuse_address = true, .reuse_port = true};
        const UniqueFd stranger =
            listening ? ListenSocket(options, kOnlyPort) : BindSocket(options, kOnlyPort);
        if (!stranger.valid()) return "";  // a machine without IPv6
        return ExpectRefused("a stranger has it");
      }));
    }
  }
}

TEST(PortReservationTest, APortWithOldConnectionsInTimeWaitIsNotTaken) {
  EXPECT_WELL_OR_SKIP(InOwnNetwork(kUsualRange, kAllButOne, []() -> std::string {
    {
      UniqueFd server = ListenSocket({.reuse_address = true, .reuse_port = true}, kOnlyPort);
      // By name, since the kernel gives nobody a reserved port.
      UniqueFd client = ConnectTo(kOnlyPort, kOnlyPort + 1);
      if (!client.valid()) return "no connection";
      UniqueFd accepted(::accept(server.get(), nullptr, nullptr));
      accepted.Reset();
    }
    return ExpectRefused("it is in TIME_WAIT");
  }));
}

TEST(PortReservationTest, InsideTheEphemeralRangeOnlyWhenThereIsNothingElse) {
  EXPECT_WELL_OR_SKIP(InOwnNetwork("1024 65535", "", []() -> std::string {
    return PortReservation::Reserve().ok() ? "" : "no port although all are free";
  }));
  EXPECT_WELL_OR_SKIP(InOwnNetwork("10000 65535", "", []() -> std::string {
    for (int i = 0; i < 50; ++i) {
      const auto reservation = PortReservation::Reserve();
      if (!reservation.ok() || reservation->port() >= 10'000) return "took an ephemeral port";
    }
    return "";
  }));
}

}  // namespace
}  // namespace tony::os
