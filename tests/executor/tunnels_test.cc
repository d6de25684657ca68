// The task's end of tunnels, against a real ApplicationMaster's service.
#include "executor/tunnels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "rpc/certificate_authority.h"
#include "rpc/event_log.h"
#include "rpc/job_client.h"
#include "rpc/master_server.h"
#include "tests/common/loop_driver.h"

namespace tony::executor {
namespace {

using ::testing::HasSubstr;

constexpr char kContainer[] = "job-1-c0001";

/// A client that wishes a tunnel, whose executor is asked as the ApplicationMaster asks it.
class TunnelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = rpc::MasterServer::Start(
        "127.0.0.1", authority_.Issue(rpc::ApplicationMasterRole("job-1")).value(), jobs_,
        executors_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    client_ = std::make_unique<rpc::JobClient>(server_->address(),
                                               *authority_.Issue(rpc::ClientRole("job-1")));
    tunnels_ = std::make_unique<Tunnels>(driver_.loop(),
                                         *authority_.Issue(rpc::ExecutorRole("job-1", kContainer)));
  }

  void Take(const rpc::TunnelRelay::Wish& wish) {
    relay_.Expect(wish.tunnel, kContainer);
    v1::OpenTunnel open;
    open.set_tunnel(wish.tunnel);
    open.set_port(wish.port);
    tunnels_->Open(open, server_->address(), refusal_);
  }

  /// What a browser gets from `port` through the tunnel, and how the tunnel ended.
  absl::Status Ask(int port, std::string& answer) {
    std::unique_ptr<TcpSocket> browser;
    std::unique_ptr<rpc::TunnelPump> pump;
    std::optional<absl::Status> done;
    const auto listener = TcpListener::Listen(driver_.loop(), "127.0.0.1", 0, [&](auto socket) {
      pump = std::make_unique<rpc::TunnelPump>(
          driver_.loop(), std::move(socket),
          [&](auto callbacks) {
            return client_->tunnels().Open({"worker", 0}, port, std::move(callbacks));
          },
          [&](const absl::Status& status) {
            done = status;
            driver_.Changed();
          });
    });
    const auto attempt =
        TcpSocket::Connect(driver_.loop(), "127.0.0.1", (*listener)->port(), [&](auto socket) {
          browser = *std::move(socket);
          Read(*browser, answer);
        });
    EXPECT_TRUE(driver_.Await([&] { return done.has_value(); }));
    return done.value_or(absl::UnknownError("it goes on"));
  }
  /// Reads all, and then ends its own direction.
  void Read(TcpSocket& socket, std::string& answer) {
    socket.Read([this, &socket, &answer](const absl::StatusOr<std::string>& bytes) {
      if (!bytes.ok()) return;
      if (bytes->empty()) return socket.EndWriting();
      answer += *bytes;
      Read(socket, answer);
    });
  }

  /// A server of the task's that says hello to everybody.
  int Serve(const std::string& address) {
    auto listener = TcpListener::Listen(driver_.loop(), address, 0, [this](auto socket) {
      served_ = std::move(socket);
      served_->Write("hello", [this](const absl::Status&) { served_->EndWriting(); });
    });
    if (!listener.ok()) return 0;
    server_of_task_ = *std::move(listener);
    return server_of_task_->port();
  }

  LoopDriver driver_;
  rpc::CertificateAuthority authority_ = rpc::CertificateAuthority::Create("job-1").value();
  rpc::EventLog log_;
  rpc::TunnelRelay relay_{[this](const rpc::TunnelRelay::Wish& wish) {
    driver_.loop().Post([this, wish] { Take(wish); });
  }};
  rpc::JobService jobs_{"job-1", log_, relay_, {}};
  rpc::ExecutorService executors_{"job-1", relay_, [](const core::JobInput&) {}};
  std::unique_ptr<rpc::MasterServer> server_;
  std::unique_ptr<rpc::JobClient> client_;
  absl::Status refusal_;
  std::unique_ptr<TcpListener> server_of_task_;
  std::unique_ptr<TcpSocket> served_;
  std::unique_ptr<Tunnels> tunnels_;
};

TEST_F(TunnelsTest, ReachesWhatListensOnTheLoopback) {
  const int port = Serve("127.0.0.1");
  for (int i = 0; i < 3; ++i) {
    std::string answer;
    const absl::Status done = Ask(port, answer);
    EXPECT_TRUE(done.ok()) << done;
    EXPECT_EQ(answer, "hello");
  }
}

TEST_F(TunnelsTest, AlsoInVersionSix) {
  const int port = Serve("::1");
  if (port == 0) GTEST_SKIP() << "no IPv6 here";
  std::string answer;
  const absl::Status done = Ask(port, answer);
  EXPECT_TRUE(done.ok()) << done;
  EXPECT_EQ(answer, "hello");
}

TEST_F(TunnelsTest, WhereNobodyListens) {
  const int port = Serve("127.0.0.1");
  server_of_task_.reset();
  std::string answer;
  const absl::Status done = Ask(port, answer);
  EXPECT_TRUE(absl::IsUnavailable(done)) << done;
  EXPECT_THAT(std::string(done.message()), HasSubstr("nobody listens on its port"));
}

TEST_F(TunnelsTest, WhatIsRefusedIsNotConnected) {
  const int port = Serve("127.0.0.1");
  refusal_ = absl::PermissionDeniedError("port 22 is not reserved");
  std::string answer;
  const absl::Status done = Ask(port, answer);
  EXPECT_EQ(done.message(), "port 22 is not reserved");
  EXPECT_EQ(served_, nullptr);
}

TEST_F(TunnelsTest, EndsWithItsOwner) {
  const int port = Serve("127.0.0.1");
  std::string answer;
  EXPECT_TRUE(Ask(port, answer).ok());
  refusal_ = absl::PermissionDeniedError("no");
  Take({.tunnel = 99, .task = {"worker", 0}, .port = port});  // its answer may be on its way
  tunnels_.reset();
  bool ran = false;
  driver_.loop().Post([&] {
    ran = true;
    driver_.Changed();
  });
  EXPECT_TRUE(driver_.Await([&] { return ran; }));
}

}  // namespace
}  // namespace tony::executor
