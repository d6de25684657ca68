// The task's end of tunnels, against a real ApplicationMaster's service.
#include "executor/master/tunnels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "rpc/security/certificate_authority.h"
#include "rpc/services/event_log.h"
#include "rpc/services/job_client.h"
#include "rpc/services/master_server.h"
#include "tests/common/loop_driver.h"
#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

using ::testing::HasSubstr;

constexpr char kContainer[] = "job-1-c0001";

/// A client that wishes a tunnel, whose executor is asked as the ApplicationMaster asks it.
class TunnelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = rpc::MasterServer::Start(
        "127.0.0.1", rpc::Peers::kOwnUser,
        authority_.Issue(rpc::ApplicationMasterRole("job-1")).value(), jobs_, executors_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    client_ = std::make_unique<rpc::JobClient>(server_->address(),
                                               *authority_.Issue(rpc::ClientRole("job-1")));
    tunnels_ = std::make_unique<Tunnels>(
        driver_.loop(), *authority_.Issue(rpc::ExecutorRole("job-1", kContainer)), folder_.path());
  }

  void Take(const rpc::TunnelRelay::Wish& wish) {
    relay_.Expect(wish.tunnel, kContainer);
    v1::OpenTunnel open;
    open.set_tunnel(wish.tunnel);
    open.set_port(wish.port);
    if (wish.logs) *open.mutable_logs() = *wish.logs;
    tunnels_->Open(open, server_->address(), refusal_);
  }

  /// The answer that a browser gets from `port` through the tunnel, and how the tunnel ended.
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

  /// The logs that `wish` means, as they come: "NUMBER: bytes" by attempt.
  struct LogReader {
    std::mutex mutex;
    std::map<int, std::string> logs;
    bool ended = false;
    std::optional<absl::Status> closed;
    std::unique_ptr<rpc::TunnelEnd> end;  ///< last: its callbacks use the rest
  };
  void ReadLogs(const v1::LogWish& wish, LogReader& reader) {
    reader.end = client_->tunnels().OpenLogs(wish, {[&](const v1::TunnelFrame& frame) {
                                                      {
                                                        const std::lock_guard lock(reader.mutex);
                                                        if (frame.has_log())
                                                          reader.logs[frame.log().attempt()] +=
                                                              frame.log().data();
                                                        reader.ended = frame.has_end();
                                                      }
                                                      driver_.Changed();
                                                      reader.end->Read();
                                                    },
                                                    [] {},
                                                    [&](const absl::Status& status) {
                                                      {
                                                        const std::lock_guard lock(reader.mutex);
                                                        reader.closed = status;
                                                      }
                                                      driver_.Changed();
                                                    }});
    reader.end->Read();
  }
  template <typename Condition>
  bool AwaitLogs(LogReader& reader, Condition condition) {
    return driver_.Await([&] {
      const std::lock_guard lock(reader.mutex);
      return condition();
    });
  }

  LoopDriver driver_;
  os::TemporaryFolder folder_;  ///< with the container's logs
  rpc::CertificateAuthority authority_ = rpc::CertificateAuthority::Create("job-1").value();
  rpc::EventLog log_;
  rpc::TunnelRelay relay_{[this](const rpc::TunnelRelay::Wish& wish) {
    driver_.loop().Post([this, wish] { Take(wish); });
  }};
  rpc::JobService jobs_{"job-1", log_, relay_, {}};
  rpc::ExecutorService executors_{"job-1", relay_, {[](const core::JobInput&) {}}};
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

TEST_F(TunnelsTest, SendsLogsAsTheyGrowToTheirEnd) {
  os::Put(folder_ / "attempt-1.stdout.log", "first\n");
  os::Put(folder_ / "attempt-1.stderr.log", "not wanted");
  v1::LogWish wish;
  wish.set_container(kContainer);
  wish.set_standard_output(true);
  wish.set_follow(true);
  LogReader reader;
  ReadLogs(wish, reader);
  EXPECT_TRUE(AwaitLogs(reader, [&] { return reader.logs[1] == "first\n"; }));
  os::Put(folder_ / "attempt-2.stdout.log", "second");
  EXPECT_TRUE(AwaitLogs(reader, [&] { return reader.logs[2] == "second"; }));
  // The last lines are sent, too, before the end.
  os::Put(folder_ / "attempt-3.stdout.log", std::string(5 << 20, 'x'));
  bool all_said = false;
  tunnels_->FinishLogs([&] { all_said = true; });
  EXPECT_TRUE(AwaitLogs(reader, [&] { return reader.ended; }));
  EXPECT_EQ(reader.logs[3], std::string(5 << 20, 'x'));
  EXPECT_EQ(reader.logs.size(), 3u);
  // Now the reader ends its side, and only then all is known to have arrived.
  EXPECT_FALSE(all_said);
  v1::TunnelFrame end;
  end.mutable_end();
  reader.end->Write(end);
  EXPECT_TRUE(AwaitLogs(reader, [&] { return reader.closed.has_value(); }));
  EXPECT_TRUE(reader.closed->ok()) << *reader.closed;
  EXPECT_TRUE(driver_.Await([&] {
    if (!all_said) driver_.Changed();
    return all_said;
  }));
}

TEST_F(TunnelsTest, LogsAsTheyAreHaveAnEnd) {
  os::Put(folder_ / "executor.log", "what it says");
  v1::LogWish wish;
  wish.set_container(kContainer);
  wish.set_executor(true);
  LogReader reader;
  ReadLogs(wish, reader);
  EXPECT_TRUE(AwaitLogs(reader, [&] { return reader.ended; }));
  EXPECT_EQ(reader.logs[0], "what it says");
}

TEST_F(TunnelsTest, AReaderOfLogsThatTakesNothingFillsNoMemory) {
  os::Put(folder_ / "executor.log", std::string(50 << 20, 'x'));
  v1::LogWish wish;
  wish.set_container(kContainer);
  wish.set_executor(true);
  wish.set_follow(true);
  std::atomic<int> frames = 0;
  const auto end = client_->tunnels().OpenLogs(
      wish, {[&](const v1::TunnelFrame&) { ++frames; }, [] {}, [](const absl::Status&) {}});
  end->Read();  // one frame, and no other
  EXPECT_TRUE(driver_.Await([&] {
    if (frames == 0) driver_.Changed();
    return frames > 0;
  }));
  bool all_said = false;
  tunnels_->FinishLogs([&] { all_said = true; });
  // Others are served meanwhile.
  const int port = Serve("127.0.0.1");
  std::string answer;
  EXPECT_TRUE(Ask(port, answer).ok());
  EXPECT_FALSE(all_said) << "somebody has taken 50 MB in";
  EXPECT_EQ(frames, 1);
}

TEST_F(TunnelsTest, AFolderOfLogsThatIsGoneIsRefused) {
  std::filesystem::remove_all(folder_.path());
  v1::LogWish wish;
  wish.set_container(kContainer);
  wish.set_follow(true);
  LogReader reader;
  ReadLogs(wish, reader);
  EXPECT_TRUE(AwaitLogs(reader, [&] { return reader.closed.has_value(); }));
  EXPECT_TRUE(absl::IsNotFound(*reader.closed)) << *reader.closed;
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
