// Tests who is admitted, what a check is told, and how much a flood writes into the log.
#include "common/peer_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/logging.h"
#include "common/tcp_socket.h"
#include "os/files/unique_fd.h"
#include "tests/common/loop_driver.h"
#include "tests/common/raw_client.h"
#include "tests/os/temporary_folder.h"

namespace tony {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A connection within 127.0.0.1, by the kernel's calls only.
struct Connection {
  Connection() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* const place = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener.get(), place, length), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener.get(), place, &length), 0);
    port = ntohs(address.sin_port);
    EXPECT_EQ(::connect(client.get(), place, length), 0);
    server.Reset(::accept(listener.get(), place, &length));
    EXPECT_TRUE(server.valid());
    client_port = ntohs(address.sin_port);
  }

  os::UniqueFd listener{::socket(AF_INET, SOCK_STREAM, 0)};
  os::UniqueFd client{::socket(AF_INET, SOCK_STREAM, 0)};
  os::UniqueFd server;
  int port = 0;
  int client_port = 0;
};

absl::Status Stranger() { return absl::PermissionDeniedError("a stranger was sent away"); }

TEST(PeerFilter, AsksAboutBothEnds) {
  const Connection connection;
  std::vector<PeerEnds> asked;
  PeerFilter filter("a server", [&](const PeerEnds& ends) {
    asked.push_back(ends);
    return absl::OkStatus();
  });
  EXPECT_TRUE(filter.Admits(connection.server.get()));
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].peer_address, "127.0.0.1");
  EXPECT_EQ(asked[0].peer_port, connection.client_port);
  EXPECT_EQ(asked[0].local_port, connection.port);
}

TEST(PeerFilter, WhomNobodyKnowsIsNotAdmitted) {
  const Connection connection;
  for (const absl::Status& answer :
       {Stranger(), absl::NotFoundError("gone"), absl::UnavailableError("no /proc")}) {
    PeerFilter filter("a server", [&](const PeerEnds&) { return answer; });
    EXPECT_FALSE(filter.Admits(connection.server.get())) << answer;
  }
}

// Its port may be another program's by now, about which the check would be asked.
TEST(PeerFilter, APeerThatBrokeTheConnectionIsNotAdmitted) {
  for (const bool during_the_check : {false, true}) {
    Connection connection;
    const auto break_it = [&] {
      const linger at_once{.l_onoff = 1, .l_linger = 0};
      ::setsockopt(connection.client.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
      connection.client.Reset();
    };
    if (!during_the_check) break_it();
    PeerFilter filter("a server", [&](const PeerEnds&) {
      if (during_the_check) break_it();
      return absl::OkStatus();
    });
    EXPECT_FALSE(filter.Admits(connection.server.get()));
    EXPECT_EQ(filter.refused(), 0U) << "it has gone by itself";
  }
}

TEST(PeerFilter, AFloodWritesAFewLines) {
  const os::TemporaryFolder folder;
  ASSERT_TRUE(SetUpLogging(folder / "log", LogLevel::kDebug).ok());
  const Connection connection;
  PeerFilter filter("the job's page", [](const PeerEnds&) { return Stranger(); });
  for (int i = 0; i < 5000; ++i) EXPECT_FALSE(filter.Admits(connection.server.get()));
  (void)SetUpLogging("", LogLevel::kInfo);
  EXPECT_EQ(filter.refused(), 5000U);
  const std::vector<std::string> lines =
      absl::StrSplit(os::Contents(folder / "log"), '\n', absl::SkipEmpty());
  EXPECT_THAT(lines, ElementsAre(HasSubstr(" warning the job's page: a stranger was sent away"),
                                 HasSubstr("so far: 10"), HasSubstr("so far: 100"),
                                 HasSubstr("so far: 1000")));
}

TEST(TcpListener, AStrangerIsClosedAndNobodyHearsOfHim) {
  LoopDriver driver;
  bool admits = false;
  int accepted = 0;
  const auto listener = TcpListener::Listen(
      driver.loop(), "127.0.0.1", 0,
      PeerFilter("a server",
                 [&](const PeerEnds&) { return admits ? absl::OkStatus() : Stranger(); }),
      [&](const auto&) {
        ++accepted;
        driver.Changed();
      });
  ASSERT_TRUE(listener.ok()) << listener.status();
  RawClient stranger;
  stranger.Connect(driver, (*listener)->port());
  ASSERT_TRUE(driver.Await([&] { return stranger.over; }));
  EXPECT_EQ(accepted, 0);
  admits = true;
  RawClient own;
  own.Connect(driver, (*listener)->port());
  EXPECT_TRUE(driver.Await([&] { return accepted == 1; }));
}

}  // namespace
}  // namespace tony
